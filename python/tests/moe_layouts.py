"""Experts of tokens, and the fused layout, in numpy: what kernels are compared with."""

from typing import NamedTuple

import numpy as np


def some_experts(tokens: int, topk: int, experts: int, ranks: int = 2) -> np.ndarray:
    """What one of so many ranks sees: topk different ones a token, -1 for those of other ranks."""
    random = np.random.default_rng(tokens + topk)
    scores = random.random((tokens, max(experts * ranks, topk)))
    chosen = np.argsort(scores, axis=1)[:, :topk]
    return np.where(chosen < experts, chosen, -1)


class Mapping(NamedTuple):
    pos_to_expert: np.ndarray
    pos_to_token: np.ndarray
    pos_to_token_topk: np.ndarray
    token_topk_to_pos: np.ndarray
    expert_start: np.ndarray
    expert_end: np.ndarray
    num_tokens_per_expert: np.ndarray


def fused_mapping(topk_idx: np.ndarray, experts: int, alignment: int, size: int = 0) -> Mapping:
    """By a stable sort. `size`: of the maps of positions; 0 for as many as there are."""
    topk, flat = topk_idx.shape[1], topk_idx.ravel()
    counts = np.bincount(flat[flat >= 0], minlength=experts)
    aligned = -(-counts // alignment) * alignment
    end = np.cumsum(aligned)
    start = end - aligned
    pairs = np.argsort(flat, kind="stable")[(flat < 0).sum() :]
    of = flat[pairs]
    pos = start[of] + np.arange(pairs.size) - (np.cumsum(counts) - counts)[of]
    maps = [np.full(size or aligned.sum(), -1, "int32") for _ in range(3)]
    for to, values in zip(maps, (of, pairs // max(topk, 1), pairs), strict=True):
        to[pos] = values
    back = np.full(flat.size, -1, "int32")
    back[pairs] = pos
    return Mapping(
        *maps, back.reshape(topk_idx.shape), *(v.astype("int32") for v in (start, end, aligned))
    )


def expanded(x: np.ndarray, pos_to_token: np.ndarray) -> np.ndarray:
    out = np.zeros((pos_to_token.size, x.shape[1]), x.dtype)
    out[pos_to_token >= 0] = x[pos_to_token[pos_to_token >= 0]]
    return out
