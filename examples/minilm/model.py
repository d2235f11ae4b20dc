"""The forward pass of all-MiniLM-L6-v2, on tilewright kernels alone.

The texts of a batch are packed: their tokens stand one after the other, without padding, and
`cu_seqlens` says where each begins. numpy only holds the arrays, or torch on a GPU (arrays.py).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from arrays import Arrays, OnCpu
from tensors import to_bf16
from weights import Dense, Norm, Weights, map_parts

import tilewright as tw

DTYPES = ("f32", "bf16", "fp8")


def embedding_sum(hidden: int, dtype: str, target: str) -> tw.Kernel:
    """A kernel of our own, in the text form of the language: y = a + b, rounded to dtype."""
    text = f"""tilewright ir 1
program "embedding_sum" {{
  symbol n: i64
  input a: f32[n, {hidden}]
  input b: f32[n, {hidden}]
  output y: {dtype}[n, {hidden}]
  launch row in n {{
    parallel j in {hidden} {{
      y[row, j] = cast(a[row, j] + b[row, j], {dtype})
    }}
  }}
}}
"""
    return tw.compile_text(text, target=target)


@dataclass
class Model:
    """Embeds texts that are given as token ids. dtype: of weights and activations; sums are f32.

    With fp8, multiplies take e4m3 weights with a scale per 128 x 128 block and activations with a
    scale per token and group of 128; everything else is f32.
    """

    weights: Weights
    dtype: str = "f32"
    arrays: Arrays = field(default_factory=OnCpu)
    first_calls: dict[str, float] = field(
        default_factory=dict
    )  # kernel -> seconds of its first call

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype is {self.dtype}, it must be one of {', '.join(DTYPES)}")
        self.storage = "bf16" if self.dtype == "bf16" else "f32"
        # What unsigned integers of 16 bits hold, for every call.
        self.holds = "bf16" if self.dtype == "bf16" else None
        hidden = self.weights.words.shape[1]
        with self._timed("embedding_sum"):
            self.embedding_sum = embedding_sum(hidden, self.storage, self.arrays.target)
        self.placed = map_parts(self.weights, self._place)

    def embed(self, texts: list[list[int]]) -> np.ndarray:
        """[texts, hidden] f32, each row of unit length."""
        lengths = [len(ids) for ids in texts]
        put, weights = self.arrays.put, self.placed
        cu_seqlens = put(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
        ids = put(np.concatenate(texts).astype(np.int32))
        places = put(np.concatenate([np.arange(n, dtype=np.int32) for n in lengths]))
        with self._timed("gather_rows"):
            words = tw.gather_rows(weights.words, ids)
        positions = tw.gather_rows(weights.positions, places)
        x = self.embedding_sum(words, positions)
        x = self._norm(x, weights.norm)
        for layer in weights.layers:
            qkv = self._dense(x, layer.qkv)
            seen = self._attention(qkv, cu_seqlens, max(lengths))
            x = self._norm(self._dense(seen, layer.out, residual=x), layer.out_norm)
            up = self._dense(x, layer.up, activation="gelu")
            x = self._norm(self._dense(up, layer.down, residual=x), layer.down_norm)
        with self._timed("masked_mean_pool"):
            pooled = tw.masked_mean_pool(x, cu_seqlens, l2_normalize=True, dtype=self.holds)
        return self.arrays.get(pooled)

    def _attention(self, qkv: Any, cu_seqlens: Any, longest: int) -> Any:
        heads = qkv.reshape(len(qkv), 3, self.weights.heads, -1)
        with self._timed("attention_packed"):
            seen = tw.attention_packed(
                heads[:, 0], heads[:, 1], heads[:, 2], cu_seqlens, longest, dtype=self.holds
            )
        return seen.reshape(len(qkv), -1)

    def _norm(self, x: Any, p: Norm) -> Any:
        with self._timed("layer_norm"):
            return tw.layer_norm(x, p.w, p.b, self.weights.eps, dtype=self.holds)

    def _dense(self, x: Any, dense: Dense, residual: Any = None, activation: str = "none") -> Any:
        args = {"bias": dense.b, "residual": residual, "activation": activation}
        name = f"gemm {x.shape[1]} x {len(dense.b)}"
        if self.dtype != "fp8":
            with self._timed(name):
                return tw.gemm(x, dense.w, dtype=self.holds, **args)
        with self._timed("per_token_cast"):
            q, scales = tw.per_token_cast(x, "e4m3", 128)
        with self._timed(name):
            return tw.gemm_fp8(q, scales, *dense.w, dtype="e4m3", **args)

    def _place(self, part: np.ndarray | Dense) -> Any:
        """The part where kernels read it, weights in the form that the multiply takes."""
        put = self.arrays.put
        if isinstance(part, np.ndarray):
            return put(part)
        if self.dtype == "fp8":
            w = tw.per_block_cast(put(np.ascontiguousarray(part.w.T)), "e4m3", (128, 128))
        else:
            w = put(to_bf16(part.w) if self.dtype == "bf16" else part.w)
        return Dense(w, put(part.b))

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.first_calls.setdefault(name, time.perf_counter() - start)
