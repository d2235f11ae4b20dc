"""Factors of weights as words for multiplies, on numpy arrays and on tensors of torch."""

import re
from typing import Any

import numpy as np
import pytest

from tilewright import quant

WEIGHTS = [(4, 8), (2, 4, 4), (20, 12), (1, 56, 8)]


def factors(shape: tuple[int, ...], seed: int) -> np.ndarray:
    exponents = np.random.default_rng(seed).integers(-60, 60, shape)
    return np.exp2(exponents).astype("float32")


def wanted(sf: np.ndarray, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Words [.., n, ceil(k / 4)] and [.., k, ceil(n / 4)]."""

    def words(e: np.ndarray) -> np.ndarray:
        fill = [(0, 0)] * (e.ndim - 1) + [(0, -e.shape[-1] % 4)]
        padded = np.ascontiguousarray(np.pad(np.repeat(e, block, -2), fill))
        return padded.view("int32")

    e = (sf.view("int32") >> 23).astype("uint8")
    return words(e), words(e.swapaxes(-1, -2))


@pytest.mark.parametrize("block", [32, 128])
def test_words_are_bitwise_numpys(block: int) -> None:
    shapes = WEIGHTS if block == 32 else [*WEIGHTS, (1, 3), (2, 5, 1)]
    sf = [factors(shape, i) for i, shape in enumerate(shapes)]
    flags = [i % 2 == 1 for i in range(len(sf))]
    results = quant.batched_transpose_weight_sf(sf, block, flags, [None] * len(sf))
    for (sf0, sf1), given, turned in zip(results, sf, flags, strict=True):
        words0, words1 = wanted(given, block)
        np.testing.assert_array_equal(sf0, words0)
        np.testing.assert_array_equal(sf1.swapaxes(-1, -2) if turned else sf1, words1)
        n, k = given.shape[-2] * block, given.shape[-1] * block
        assert sf0.strides[-2:] == (4, 4 * n)
        assert sf1.strides[-2:] == ((4 * k, 4) if turned else (4, 4 * k))


def test_results_are_written_anew() -> None:
    sf = [factors(shape, 1) for shape in WEIGHTS]
    flags = [False, True, True, False]
    first = quant.batched_transpose_weight_sf(sf, 32, flags, [None] * 4)
    others = [factors(shape, 2) for shape in WEIGHTS]
    outs = [None, *first[1:]]
    again = quant.batched_transpose_weight_sf(others, 32, flags, outs)
    fresh = quant.batched_transpose_weight_sf(others, 32, flags, [None] * 4)
    for pair, out, new in zip(again, outs, fresh, strict=True):
        assert out is None or (pair[0] is out[0] and pair[1] is out[1])
        np.testing.assert_array_equal(pair[0], new[0])
        np.testing.assert_array_equal(pair[1], new[1])


def test_strides_of_torchs_results() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    sf = [torch.ones(4, 4), torch.ones(1, 4, 4)]
    results = quant.batched_transpose_weight_sf(sf, 32, [False, True], [None, None])
    assert [words.stride() for words in results[0]] == [(1, 128), (1, 128)]
    assert [words.stride() for words in results[1]] == [(128, 1, 128), (128, 128, 1)]
    again = quant.batched_transpose_weight_sf(sf, 32, [False, True], results)
    assert again[1][1] is results[1][1]


def test_no_weights() -> None:
    assert quant.batched_transpose_weight_sf([], 32, [], []) == []


def test_what_is_no_power_of_two_stops_it() -> None:
    sf = np.full((4, 4), 3, "float32")
    with pytest.raises(RuntimeError, match="a factor is no power of two"):
        quant.batched_transpose_weight_sf([sf], 32, [False], [None])


ONES = np.ones((4, 4), "float32")


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"block_size": 64}, ValueError, "block_size is 64, it must be 32 or 128"),
        ({"outs": []}, ValueError, "1 weights, 1 of transpose_sf1s and 0 of outs"),
        ({"sf": [ONES[:3]]}, ValueError, "rows of a weight are 96, a multiple of 128 is needed"),
        ({"sf": [ONES[0]]}, ValueError, "sf is f32 [4], it must have 2 or 3 dimensions"),
        ({"sf": [ONES[None][:0]]}, ValueError, "sf is f32 [0, 4, 4], it must have elements"),
        ({"sf": [ONES.astype("float64")]}, TypeError, "sf is f64 [4, 4], it must be f32"),
        ({"transpose_sf1s": [None]}, TypeError, "entry 0 of transpose_sf1s must be True or False"),
        ({"outs": [ONES]}, TypeError, "an entry of outs must be a tuple"),
        ({"outs": [(ONES, ONES)]}, TypeError, "sf0 is f32 [4, 4], it must be i32"),
        (
            {"sf": [np.ones((8, 8), "float32")], "outs": [(np.zeros((256, 2), "int32"),) * 2]},
            ValueError,
            "sf0 isn't laid out like the results of a call; pass one of them",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(
    options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    call = {"sf": [ONES], "block_size": 32, "transpose_sf1s": [False], "outs": [None], **options}
    with pytest.raises(kind, match=re.escape(f"{message}")):
        quant.batched_transpose_weight_sf(**call)
