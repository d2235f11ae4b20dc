"""Casts with scale factors, on numpy arrays, beside numpy."""

import re

import ml_dtypes
import numpy as np
import pytest
from cast_flags import FLAGS, LEAST

import tilewright as tw
from tilewright import quant

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], "float32")


def random(m: int, k: int) -> np.ndarray:
    return np.random.default_rng(m * k).standard_normal((m, k)).astype("float32")


def wanted(x: np.ndarray, fmt: str, group: int, flags: dict) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the elements, and the factors in f32."""
    m, k = x.shape
    n = -(-k // group)
    padded = np.zeros((m, n * group), "float32")
    padded[:, :k] = x
    groups = padded.reshape(m, n, group)
    largest = np.float32(448 if fmt == "e4m3" else 6)
    least = np.float32(LEAST[fmt, "use_e4m3_sf" in flags])
    a = np.maximum(np.abs(groups).max(2), least)
    sf, inverse = a / largest, largest / a
    if "round_sf" in flags:
        e = ((sf.view("int32") - 1) >> 23) + 1
        sf, inverse = (e << 23).view("float32"), ((254 - e) << 23).view("float32")
    elif "use_e4m3_sf" in flags:
        sf = sf.astype(ml_dtypes.float8_e4m3fn).astype("float32")
        inverse = np.float32(1) / sf
    y = (groups * inverse[:, :, None]).reshape(m, n * group)[:, :k]
    if fmt == "e4m3":
        return np.clip(y, -448, 448).astype(ml_dtypes.float8_e4m3fn).view("uint8"), sf
    distance = np.abs(np.minimum(np.abs(y), 6)[..., None] - E2M1)
    nearest = distance.argmin(-1)
    tie = np.take_along_axis(distance, np.minimum(nearest + 1, 7)[..., None], -1)[..., 0]
    is_tie = (tie == distance.min(-1)) & (nearest < 7)
    code = nearest + (is_tie & (nearest % 2 == 1)) + 8 * np.signbit(y)
    return (code[:, ::2] | code[:, 1::2] << 4).astype("uint8"), sf


def decoded(sf: np.ndarray, groups: int) -> np.ndarray:
    """Factors in f32, of words without the bytes that fill them up, which must be 0."""
    if sf.dtype != np.int32:
        return sf.astype("float32")
    exponents = np.ascontiguousarray(sf).view("uint8")
    assert not exponents[:, groups:].any()
    return (exponents[:, :groups].astype("int32") << 23).view("float32")


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("shape", [(0, 128), (1, 576), (6, 320)])
def test_per_token_cast_is_bitwise_numpys(flags: str, fmt: str, shape: tuple[int, int]) -> None:
    x, options = random(*shape), FLAGS[flags]
    codes, factors = wanted(x, fmt, 128, options)
    q, sf = quant.per_token_cast(x, fmt, 128, **options)
    np.testing.assert_array_equal(q.view("uint8"), codes)
    np.testing.assert_array_equal(decoded(sf, factors.shape[1]), factors)
    assert q.flags.c_contiguous
    if "columns" in flags:
        step = 16 // sf.itemsize
        strides = [stride // sf.itemsize for stride in sf.strides]
        assert shape[0] == 0 or strides == [1, -(-shape[0] // step) * step]
    alone = quant.per_token_cast_with_sf_only(x, fmt, 128, **options)
    np.testing.assert_array_equal(alone, sf)
    assert alone.strides == sf.strides


def test_codes_are_cast_again() -> None:
    x = random(5, 256)
    q, sf = quant.per_token_cast(x, "e4m3", 128, round_sf=True)
    again, sf_again = quant.per_token_cast((q, sf), "e2m1", 32, (1, 128), round_sf=True)
    values = q.astype("float32") * np.repeat(sf, 128, axis=1)
    codes, factors = wanted(values, "e2m1", 32, {"round_sf": True})
    np.testing.assert_array_equal(again.view("uint8"), codes)
    np.testing.assert_array_equal(sf_again, factors)
    pairs = quant.per_token_cast((again, sf_again), "e4m3", 128, (1, 32))
    assert pairs[0].shape == x.shape


def test_the_least_amax_may_be_given() -> None:
    x = random(3, 256)
    x[:, :128] *= 0.001
    q, sf = quant.per_token_cast(x, "e4m3", 128, least=0.5)
    assert np.all(sf[:, 0] == np.float32(0.5) / np.float32(448)) and np.all(sf[:, 1] > sf[:, 0])
    np.testing.assert_array_equal(
        q[:, :128].view("uint8"),
        (x[:, :128] * np.float32(896)).astype(ml_dtypes.float8_e4m3fn).view("uint8"),
    )
    alone = quant.per_token_cast_with_sf_only(x, "e4m3", 128, least=0.5)
    np.testing.assert_array_equal(alone, sf)


def test_factors_may_be_given() -> None:
    x = random(3, 192)
    q, sf = quant.per_token_cast(x, "e4m3", 64, round_sf=True)
    given = quant.per_token_cast_with_precomputed_sf(x, "e4m3", 64, sf)
    np.testing.assert_array_equal(given.view("uint8"), q.view("uint8"))


def test_results_go_where_the_caller_says() -> None:
    x = random(3, 192)
    q, sf = np.empty((3, 192), ml_dtypes.float8_e4m3fn), np.empty((3, 2), "float32")
    got = quant.per_token_cast(x, "e4m3", 128, out=(q, sf))
    assert got[0] is q and got[1] is sf
    half = quant.per_token_cast(x, "e4m3", 128, out=(None, sf))
    assert half[1] is sf
    np.testing.assert_array_equal(half[0].view("uint8"), q.view("uint8"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fmt": "e5m2"}, "fmt is 'e5m2', it must be 'e4m3', 'e2m1' or 'e5m6'"),
        ({"num_per_channels": 7}, "the group is 7, it must be 16, 32, 64, 128, or a row of 192"),
        ({"use_packed_ue8m0": True}, "use_packed_ue8m0 needs round_sf"),
        ({"use_e4m3_sf": True, "round_sf": True}, "use_e4m3_sf and round_sf exclude each other"),
        ({"x_block_size": (1, 128)}, "x_block_size is for x that is a tuple"),
        ({"least": -1.0}, "least is -1, it must be at least 0"),
    ],
)
def test_what_does_not_fit_is_an_error(options: dict, message: str) -> None:
    arguments = {"fmt": "e4m3", "num_per_channels": 128, **options}
    with pytest.raises(ValueError, match=re.escape(f"per_token_cast: {message}")):
        tw.per_token_cast(random(3, 192), **arguments)


E4M3 = ml_dtypes.float8_e4m3fn


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use_e4m3_sf": True, "out": (None, np.empty((3, 2), "float32"))}, "it must be e4m3"),
        ({"out": (None, np.empty((3, 2), E4M3))}, "it must be f32"),
        (
            {"round_sf": True, "use_packed_ue8m0": True, "out": (None, np.empty((3, 2), "int32"))},
            "sf is i32 [3, 2], it must be [3, 1] for these flags",
        ),
        (
            {
                "round_sf": True,
                "use_packed_ue8m0": True,
                "out": (None, np.empty((3, 2), "float32")),
            },
            "it must be i32",
        ),
        ({"out": (None, np.empty((3, 4), "float32")[:, :2])}, "it must be contiguous"),
        ({"out": (np.empty((3, 96), "int8"), None)}, "q is e2m1 [3, 192], it must be e4m3"),
        ({"fmt": "e2m1", "out": (np.empty((3, 192), E4M3), None)}, "it must be e2m1"),
    ],
)
def test_what_the_caller_gives_is_what_the_flags_say(options: dict, message: str) -> None:
    arguments = {"fmt": "e4m3", "num_per_channels": 128, **options}
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        quant.per_token_cast(random(3, 192), **arguments)


def test_given_factors_lie_row_by_row() -> None:
    x, columns = random(4, 256), np.ones((2, 4), "float32").T
    with pytest.raises(ValueError, match=r"per_token_cast_with_precomputed_sf: sf .* row by row"):
        quant.per_token_cast_with_precomputed_sf(x, "e4m3", 128, columns)
    with pytest.raises(ValueError, match=r"per_block_cast_with_precomputed_sf: sf .* row by row"):
        rows = np.ones((8, 2), "float32").T
        quant.per_block_cast_with_precomputed_sf(random(64, 256), "e4m3", (32, 32), rows)
    codes = (np.zeros((4, 256), E4M3), np.ones((4, 16), "float32")[:, ::2])
    with pytest.raises(ValueError, match="per_token_cast: sf has strides"):
        quant.per_token_cast(codes, "e4m3", 128, (1, 32))


def test_an_array_for_the_result_of_a_cast_has_its_dtype() -> None:
    x, out = random(3, 4), np.full((3, 4), 7, "float32")
    for cast in (quant.cast, quant.stochastic_cast):
        with pytest.raises(TypeError, match="cast: out is f32"):
            cast(x, "bf16", out=out)
    assert (out == 7).all()
