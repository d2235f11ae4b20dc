"""The formulas in float64."""

import math
from collections.abc import Callable

import numpy as np


def rms_norm(x: np.ndarray, w: np.ndarray, eps: float) -> np.ndarray:
    x = x.astype("float64")
    return x * w.astype("float64") / np.sqrt((x * x).mean(1, keepdims=True) + eps)


def layer_norm(x: np.ndarray, w: np.ndarray, b: np.ndarray, eps: float) -> np.ndarray:
    x = x.astype("float64")
    centred = x - x.mean(1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(1, keepdims=True) + eps) * w + b.astype("float64")


def softmax(x: np.ndarray, scale: float = 1.0) -> np.ndarray:
    x = scale * x.astype("float64")
    terms = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return terms / terms.sum(-1, keepdims=True)


def gemm(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype("float64") @ b.astype("float64")


ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "none": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    causal: bool = False,
    key_lengths: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The output and the log-sum-exp of each row, query by query."""
    batch, queries, heads, d = q.shape
    out, lse = np.zeros(q.shape), np.full((batch, heads, queries), -np.inf)
    for b, h, i in np.ndindex(batch, heads, queries):
        keys = k.shape[1] if key_lengths is None else int(key_lengths[b])
        seen = max(min(keys, i + 1 - queries + keys), 0) if causal else keys
        if seen == 0:
            continue
        of_head = h // (heads // k.shape[2])
        scores = k[b, :seen, of_head].astype("float64") @ q[b, i, h].astype("float64")
        scores /= math.sqrt(d)
        lse[b, h, i] = np.log(np.exp(scores).sum())
        out[b, i, h] = softmax(scores) @ v[b, :seen, of_head]
    return out, lse
