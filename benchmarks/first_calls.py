"""Run in a process of its own: the first call of ten kernels of each kind, in microseconds.

Prints a JSON object {kind: {kernel: us}}. A first call compiles, or finds the kernel in the disk
cache of TW_CACHE_DIR; the second call, which only runs, is subtracted.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable

import numpy as np

import tilewright as tw

FORMULAS = (
    "x[i] + 1.0",
    "x[i] * x[i]",
    "max(x[i], 0.0)",
    "exp(x[i])",
    "1.0 / (1.0 + exp(neg(x[i])))",
    "tanh(x[i])",
    "sqrt(abs(x[i]))",
    "x[i] * 0.5 * (1.0 + erf(x[i] * 0.70710678))",
    "log(1.0 + exp(x[i]))",
    "min(max(x[i], neg(1.0)), 1.0) * 3.0 + x[i]",
)


def elementwise(formula: str) -> Callable[[], object]:
    text = f"""tilewright ir 1
program "elementwise" {{
  symbol n: i64
  input x: f32[n]
  output y: f32[n]
  launch block in (n + 1023) // 1024 {{
    parallel lane in 1024 {{
      if block * 1024 + lane < n {{
        y[block * 1024 + lane] = {formula.replace("[i]", "[block * 1024 + lane]")}
      }}
    }}
  }}
}}
"""
    x = np.ones(64, "float32")
    return lambda: tw.compile_text(text)(x)


def ones(dtype: str, *shape: int) -> np.ndarray:
    """bf16 is uint16."""
    return np.full(shape, 0x3F80, "uint16") if dtype == "bf16" else np.ones(shape, "float32")


def name_of(dtype: str) -> str | None:
    return "bf16" if dtype == "bf16" else None


def reductions() -> dict[str, Callable[[], object]]:
    def norm(kind: str, dtype: str, h: int) -> Callable[[], object]:
        x, w, named = ones(dtype, 4, h), ones("f32", h), name_of(dtype)
        if kind == "softmax":
            return lambda: tw.softmax(x, dtype=named)
        if kind == "rms_norm":
            return lambda: tw.rms_norm(x, w, dtype=named)
        return lambda: tw.layer_norm(x, w, w, dtype=named)

    cases = itertools.product((384, 1024), ("f32", "bf16"), ("softmax", "rms_norm", "layer_norm"))
    return {f"{k} {d} {h}": norm(k, d, h) for h, d, k in itertools.islice(cases, 10)}


def gemms() -> dict[str, Callable[[], object]]:
    def gemm(dtype: str, trans_a: bool, trans_b: bool, activation: str) -> Callable[[], object]:
        a = ones(dtype, 64, 64)
        args = {"trans_a": trans_a, "trans_b": trans_b, "activation": activation}
        return lambda: tw.gemm(a, a, dtype=name_of(dtype), **args)

    cases = itertools.product(("none", "gelu"), ("f32", "bf16"), (False, True), (False, True))
    return {
        f"gemm {d} {int(ta)}{int(tb)} {act}": gemm(d, ta, tb, act)
        for act, d, ta, tb in itertools.islice(cases, 10)
    }


def attentions() -> dict[str, Callable[[], object]]:
    def attention(dtype: str, causal: bool, d: int) -> Callable[[], object]:
        q = ones(dtype, 1, 16, 2, d)
        return lambda: tw.attention(q, q, q, causal=causal, dtype=name_of(dtype))

    cases = itertools.product((32, 64, 128), ("f32", "bf16"), (False, True))
    return {
        f"attention {dt} {d}{' causal' if causal else ''}": attention(dt, causal, d)
        for d, dt, causal in itertools.islice(cases, 10)
    }


def elapsed_us(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e6


def main() -> None:
    elementwise("x[i] - 4321.0")()  # loads the backend, which happens once in a process
    kinds = {
        "elementwise": {formula: elementwise(formula) for formula in FORMULAS},
        "reduction": reductions(),
        "gemm": gemms(),
        "attention": attentions(),
    }
    times = {
        kind: {name: elapsed_us(call) - elapsed_us(call) for name, call in calls.items()}
        for kind, calls in kinds.items()
    }
    print(json.dumps(times))


if __name__ == "__main__":
    main()
