"""The forward pass of all-MiniLM-L6-v2, on tilewright kernels alone.

The texts of a batch are packed: their tokens stand one after the other, without padding, and
`cu_seqlens` says where each begins. numpy only holds the arrays.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from weights import Dense, Norm, Weights

import tilewright as tw

DTYPES = ("f32", "bf16", "fp8")


def embedding_sum(hidden: int, dtype: str) -> tw.Kernel:
    """A kernel of our own, in the text form of the language: y = a + b, rounded to dtype."""
    return tw.compile_text(f"""tilewright ir 1
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
""")


def to_bf16(x: np.ndarray) -> np.ndarray:
    """The bits of bf16, rounded to nearest even, in uint16: numpy has no such type."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


@dataclass
class Model:
    """Embeds texts that are given as token ids. dtype: of weights and activations; sums are f32.

    With fp8, multiplies take e4m3 weights with a scale per 128 x 128 block and activations with a
    scale per token and group of 128; everything else is f32.
    """

    weights: Weights
    dtype: str = "f32"
    first_calls: dict[str, float] = field(
        default_factory=dict
    )  # kernel -> seconds of its first call

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise ValueError(f"dtype is {self.dtype}, it must be one of {', '.join(DTYPES)}")
        self.storage = "bf16" if self.dtype == "bf16" else "f32"
        # What unsigned integers of 16 bits hold, for every call.
        self.holds = "bf16" if self.dtype == "bf16" else None
        with self._timed("embedding_sum"):
            self.embedding_sum = embedding_sum(self.weights.words.shape[1], self.storage)
        self.denses = {}
        for layer in self.weights.layers:
            for dense in (layer.qkv, layer.out, layer.up, layer.down):
                self.denses[id(dense)] = self._prepare(dense)

    def embed(self, texts: list[list[int]]) -> np.ndarray:
        """[texts, hidden] f32, each row of unit length."""
        lengths = [len(ids) for ids in texts]
        cu_seqlens = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        ids = np.concatenate(texts).astype(np.int32)
        places = np.concatenate([np.arange(n, dtype=np.int32) for n in lengths])
        with self._timed("gather_rows"):
            words = tw.gather_rows(self.weights.words, ids)
        positions = tw.gather_rows(self.weights.positions, places)
        x = self.embedding_sum(words, positions)
        x = self._norm(x, self.weights.norm)
        for layer in self.weights.layers:
            qkv = self._dense(x, layer.qkv)
            seen = self._attention(qkv, cu_seqlens, max(lengths))
            x = self._norm(self._dense(seen, layer.out, residual=x), layer.out_norm)
            up = self._dense(x, layer.up, activation="gelu")
            x = self._norm(self._dense(up, layer.down, residual=x), layer.down_norm)
        with self._timed("masked_mean_pool"):
            return tw.masked_mean_pool(x, cu_seqlens, l2_normalize=True, dtype=self.holds)

    def _attention(self, qkv: np.ndarray, cu_seqlens: np.ndarray, longest: int) -> np.ndarray:
        heads = qkv.reshape(len(qkv), 3, self.weights.heads, -1)
        with self._timed("attention_packed"):
            seen = tw.attention_packed(
                heads[:, 0], heads[:, 1], heads[:, 2], cu_seqlens, longest, dtype=self.holds
            )
        return seen.reshape(len(qkv), -1)

    def _norm(self, x: np.ndarray, p: Norm) -> np.ndarray:
        with self._timed("layer_norm"):
            return tw.layer_norm(x, p.w, p.b, self.weights.eps, dtype=self.holds)

    def _dense(
        self,
        x: np.ndarray,
        dense: Dense,
        residual: np.ndarray | None = None,
        activation: str = "none",
    ) -> np.ndarray:
        args = {"bias": dense.b, "residual": residual, "activation": activation}
        inputs, outputs = dense.w.shape
        w = self.denses[id(dense)]
        name = f"gemm {inputs} x {outputs}"
        if self.dtype != "fp8":
            with self._timed(name):
                return tw.gemm(x, w, dtype=self.holds, **args)
        with self._timed("per_token_group_cast"):
            q, scales = tw.per_token_group_cast(x, group=128)
        with self._timed(name):
            return tw.gemm_fp8(q, scales, *w, dtype="e4m3", **args)

    def _prepare(self, dense: Dense) -> np.ndarray | tuple:
        """The weights as the multiply takes them."""
        if self.dtype == "fp8":
            return tw.per_block_cast(np.ascontiguousarray(dense.w.T))
        return to_bf16(dense.w) if self.dtype == "bf16" else dense.w

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.first_calls.setdefault(name, time.perf_counter() - start)
