"""Gates of a mixture of experts, on numpy arrays, beside numpy."""

import re

import numpy as np
import pytest

import tilewright as tw
from tilewright import moe


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype("float32")


def best(keys: np.ndarray, k: int) -> np.ndarray:
    """The k highest keys of each row in order, of equal ones the lower index first."""
    return np.argsort(-keys, axis=1, kind="stable")[:, :k]


def denominator(weights: np.ndarray) -> np.ndarray:
    y = np.zeros((len(weights), 32), "float32")
    y[:, : weights.shape[1]] = weights
    for s in (16, 8, 4, 2, 1):
        y = y[:, :s] + y[:, s : 2 * s]
    return y[:, 0] + np.float32(1e-20)


# ---- topk_gate ----
@pytest.mark.parametrize("tokens", [0, 1, 67])
@pytest.mark.parametrize(("experts", "k"), [(72, 6), (5, 5), (256, 8), (1000, 32)])
def test_topk_gate_is_a_stable_sort(tokens: int, experts: int, k: int) -> None:
    scores = np.round(random(tokens, experts), 1)
    idx = moe.topk_gate(scores, k)
    assert idx.dtype == np.int64 and idx.flags.c_contiguous
    np.testing.assert_array_equal(idx, best(scores, k))
    out = np.empty((tokens, k), "int64")
    assert moe.topk_gate(scores, num_topk=k, out=out) is out
    np.testing.assert_array_equal(out, idx)


def test_topk_gate_rejects_what_does_not_fit() -> None:
    scores = random(3, 64)
    for k in (-1, 0, 33, 40):
        with pytest.raises(ValueError, match="it must be from 1 to 32 for 64 experts"):
            moe.topk_gate(scores, k)
    with pytest.raises(ValueError, match="it must have 2 dimensions"):
        moe.topk_gate(scores[0], 3)
    with pytest.raises(TypeError, match="scores is f64"):
        moe.topk_gate(scores.astype("float64"), 3)
    with pytest.raises(ValueError, match="compact"):
        moe.topk_gate(scores[:, ::2], 3)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_topk_gate_stops_at_scores_that_are_not_finite(wrong: float) -> None:
    scores = random(3, 64)
    scores[1, 40] = wrong
    with pytest.raises(RuntimeError, match=re.escape("a score of this token isn't finite")):
        moe.topk_gate(scores, 3)


# ---- normalize_weight ----
@pytest.mark.parametrize("tokens", [0, 1, 67])
@pytest.mark.parametrize("k", [1, 6, 8, 32])
def test_normalize_weight_is_bitwise_numpys(tokens: int, k: int) -> None:
    weights = np.abs(random(tokens, k))
    sums, normalized = moe.normalize_weight(weights)
    assert sums.shape == (tokens,)
    np.testing.assert_array_equal(sums, denominator(weights))
    np.testing.assert_array_equal(normalized, weights / sums[:, None])


def test_normalize_weight_of_wide_rows() -> None:
    weights = np.abs(random(5, 40))
    with pytest.raises(ValueError, match="a token may have at most 32 weights"):
        tw.moe.normalize_weight(weights)
    sums, normalized = moe.normalize_weight(weights, wide_rows=True)
    wanted = np.full(5, 1e-20, "float32")
    for j in range(40):
        wanted = wanted + weights[:, j]
    np.testing.assert_array_equal(sums, wanted)
    np.testing.assert_array_equal(normalized, weights / sums[:, None])
