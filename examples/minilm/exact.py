"""The same model in numpy and float64: what the kernels are compared with."""

from __future__ import annotations

import math

import numpy as np
from weights import Norm, Weights

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _norm(x: np.ndarray, p: Norm, eps: float) -> np.ndarray:
    centered = x - x.mean(axis=-1, keepdims=True)
    variance = (centered**2).mean(axis=-1, keepdims=True)
    return centered / np.sqrt(variance + eps) * p.w + p.b


def embed(weights: Weights, ids: list[int]) -> np.ndarray:
    """The embedding of one text: [hidden], of unit length."""
    n = len(ids)
    x = _norm(
        weights.words[ids].astype(np.float64) + weights.positions[:n], weights.norm, weights.eps
    )
    for layer in weights.layers:
        qkv = x @ layer.qkv.w.astype(np.float64) + layer.qkv.b
        q, k, v = (
            part.reshape(n, weights.heads, -1).swapaxes(0, 1) for part in np.split(qkv, 3, 1)
        )
        scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        seen = (scores / scores.sum(axis=-1, keepdims=True)) @ v
        seen = seen.swapaxes(0, 1).reshape(n, -1)
        x = _norm(
            seen @ layer.out.w.astype(np.float64) + layer.out.b + x, layer.out_norm, weights.eps
        )
        up = x @ layer.up.w.astype(np.float64) + layer.up.b
        up = up * (1 + _erf(up / math.sqrt(2))) / 2
        x = _norm(
            up @ layer.down.w.astype(np.float64) + layer.down.b + x, layer.down_norm, weights.eps
        )
    pooled = x.mean(axis=0)
    return pooled / np.linalg.norm(pooled)
