"""Standard normals on numpy arrays and tensors of torch; casts that round at random."""

import re
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

from tilewright import quant, rand


def filled(function: Callable, dtype: type) -> np.ndarray:
    """Numbers of seed 3, which have mean 0 and variance 1."""
    out = np.zeros((300, 1000), dtype)
    assert function(out, seed=3) is out
    z = out.astype("float64").ravel()
    root = z.size**0.5
    assert abs(z.mean()) <= 5 / root and abs(z.var() - 1) <= 8 / root
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_randn(dtype: type) -> None:
    out = filled(rand.randn, dtype)
    again = rand.randn(np.zeros_like(out), 3, offset=4)
    assert (again != out).mean() > 0.9
    assert (rand.randn(again, 3) == out).all()


def test_the_numbers_of_torch() -> None:
    found = rand.randn(np.zeros(6, "float32"))
    wanted = [-0.92466, -0.42534, -2.64385, 0.14518, -0.12087, -0.57973]
    assert np.allclose(found, wanted, rtol=0, atol=5e-6)


def test_words() -> None:
    words = [rand.randn_words(n, 4) for n in (0, 1, 4096, 4097)]
    assert words == [0, 4, 4, 8] and rand.randn_words(8192 * 7168) == 220
    both, half = np.zeros(8192, "float32"), np.zeros(4096, "float32")
    rand.randn(both, 9, most_groups=4)
    rand.randn(half, 9, words[2], most_groups=4)
    assert (half == both[4096:]).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.zeros(4),), TypeError, "it must be f32, bf16 or f16"),
        ((np.zeros((4, 4), "float32").T[1:],), ValueError, "it must be contiguous"),
        ((np.zeros(4, "float32"), 0, 2), ValueError, "must be a multiple of 4"),
        ((np.zeros(4, "float32"), 0, 0, 0), ValueError, "most_groups is 0"),
        ((np.zeros(4, "float32"), -1), TypeError, "incompatible function arguments"),
    ],
)
def test_what_does_not_fit(arguments: tuple, error: type, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        rand.randn(*arguments)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_standard_normal(dtype: type) -> None:
    out = filled(rand.standard_normal, dtype)
    z = out.astype("float64").ravel()
    assert abs((z[1:] * z[:-1]).mean()) <= 5 / z.size**0.5
    part = rand.standard_normal(np.zeros(1001, dtype), 3)
    assert (part == out.ravel()[:1001]).all()
    for arguments in ((4,), (3, 1), (3 + 2**32,), (3, 2**32), (2**64 - 1, 2**64 - 1)):
        assert (rand.standard_normal(np.zeros_like(out), *arguments) != out).mean() > 0.9


def test_the_first_standard_normals() -> None:
    """The known answer of Philox for key and counter 0: 6627E8D5 E169C58D BC57AC4C 9B00DBD8."""
    found = rand.standard_normal(np.zeros(4, "float32"))
    u = (np.array([0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]) + 0.5) / 2**32
    r, angle = np.sqrt(-2 * np.log(u[::2])), 2 * np.pi * u[1::2]
    wanted = [r[0] * np.sin(angle[0]), r[0] * np.cos(angle[0])]
    wanted += [r[1] * np.sin(angle[1]), r[1] * np.cos(angle[1])]
    assert np.allclose(found, wanted, rtol=6e-7, atol=0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.zeros(4),), TypeError, "it must be f32, bf16 or f16"),
        ((np.zeros((4, 4), "float32").T[1:],), ValueError, "it must be contiguous"),
        ((np.zeros(4, "float32"), -1), TypeError, "incompatible function arguments"),
    ],
)
def test_what_standard_normal_does_not_take(arguments: tuple, error: type, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        rand.standard_normal(*arguments)


def neighbors(x: np.ndarray, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    """The values of dtype at or below and at or above x."""
    nearest = x.astype(dtype)
    low = np.where(nearest.astype("float32") > x, np.nextafter(nearest, dtype(-400)), nearest)
    high = np.where(nearest.astype("float32") < x, np.nextafter(nearest, dtype(400)), nearest)
    return low.astype("float32"), high.astype("float32")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (np.float32, ml_dtypes.bfloat16),
        (np.float32, ml_dtypes.float8_e4m3fn),
        (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn),
    ],
)
def test_stochastic_cast(source: type, target: type) -> None:
    x = np.random.default_rng(1).uniform(-2, 2, (64, 1024)).astype(source)
    name = "bf16" if target == ml_dtypes.bfloat16 else "e4m3"
    found = quant.stochastic_cast(x, name).view(target)
    wide, value = x.astype("float32"), found.astype("float32")
    low, high = neighbors(wide, target)
    assert ((value == low) | (value == high)).all()
    error = (value - wide).astype("float64")
    assert abs(error.mean()) < 4 * error.std() / error.size**0.5
    assert (value < wide).mean() < 0.6 and (value > wide).mean() > 0.3
    again = quant.stochastic_cast(x, name).view(target)
    assert (again.view("uint8") == found.view("uint8")).all()


def test_the_example_of_stochastic_cast() -> None:
    x = np.zeros(32, "float32")
    x[28:] = [0.1, 0.2, 0.3, 0.4]
    found = quant.stochastic_cast(x, "bf16").view("uint16")
    assert found[28:].tolist() == [0x3DCD, 0x3E4D, 0x3E9A, 0x3ECD]


@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
def test_per_token_cast_at_random(fmt: str) -> None:
    x = np.random.default_rng(2).standard_normal((64, 256), "float32")
    nearest, sf = quant.per_token_cast(x, fmt, 32)
    found, other = quant.per_token_cast(x, fmt, 32, stochastic_cast=True)
    assert (sf == other).all() and (found != nearest).mean() > 0.2
    back = quant.cast_back((found, sf), "fp32", (1, 32)) - x
    assert abs(back.astype("float64").mean()) < 4 * back.std() / back.size**0.5


@pytest.mark.parametrize(
    ("x", "to", "error", "message"),
    [
        (np.zeros(5, "float32"), "bf16", ValueError, "must be a multiple of 4"),
        (np.zeros((4, 8), "float32")[:, :4], "bf16", ValueError, "it must be contiguous"),
        (np.zeros(4, "float32"), "f16", TypeError, "it must be bf16 or e4m3"),
        (np.zeros(4), "bf16", TypeError, "it must be f32 or bf16"),
    ],
)
def test_what_can_not_be_rounded_at_random(
    x: np.ndarray, to: str, error: type, message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        quant.stochastic_cast(x, to)
