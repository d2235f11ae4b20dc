"""The references of casts to twelve bits: the check values that define them."""

import pytest
import torch

from tile_kernels.testing.numeric import assert_equal, calc_diff
from tile_kernels.torch import cast_back_from_e5m6, cast_to_e5m6
from tile_kernels.torch.cast_e5m6 import from_e5m6, packed, to_e5m6, unpacked


def hexed(x: torch.Tensor) -> str:
    return " ".join(f"{b:02X}" for b in x.flatten().clone().view(torch.uint8).tolist())


@pytest.mark.parametrize(
    ("y", "code"),
    [
        (1.0, 0x3C0), (-1.0, 0xBC0), (65024, 0x7BF), (2**-14, 0x040), (2**-14 * 63 / 64, 0x03F),
        (2**-20, 0x001), (1 + 1 / 128, 0x3C0), (1 + 3 / 128, 0x3C2), (1 + 1 / 128 + 2**-20, 0x3C1),
        (0.0, 0), (-0.0, 0x800), (1.75 * 2**-20, 0x001), (2.5 * 2**-20, 0x002),
        (1.01171875 * 2**-18, 0x005), (1.5 * 2**-21, 0x000),
        (2**-40 * (1 + 0x10001 * 2**-23), 0x001), (2**-40, 0), (torch.inf, 0x7BF),
    ],
)  # fmt: skip
def test_codes(y: float, code: int) -> None:
    assert to_e5m6(torch.tensor([y])).item() == code


def test_codes_that_fit_come_back() -> None:
    codes = torch.arange(4096, dtype=torch.int32)
    finite = codes[(codes >> 6 & 31) != 31]
    assert_equal(to_e5m6(from_e5m6(finite)), finite)
    assert from_e5m6(codes)[0x7C1:0x800].isnan().all()
    assert to_e5m6(torch.tensor([torch.nan])).item() == 0x7FF


def test_normal_numbers_are_rounded_to_the_nearest_even() -> None:
    y = torch.randn(20000) * 2.0 ** torch.randint(-13, 14, (20000,))
    y = y[y.abs() >= 2**-14]
    scale = 2.0 ** (y.abs().log2().floor() - 6)
    assert torch.equal(from_e5m6(to_e5m6(y)), (y / scale).round() * scale)


def test_eight_codes_lie_in_twelve_bytes() -> None:
    x = torch.tensor([1, -2, 0.5, 3, -0.25, 65024, 0, -0.0])
    codes = to_e5m6(x)[None]
    assert hexed(packed(codes)) == "38 00 0C 3C 07 B4 20 04 00 08 00 BF"
    some = torch.randint(0, 4096, (3, 64), dtype=torch.int32)
    assert_equal(unpacked(packed(some)), some)


def test_a_row_of_eight() -> None:
    x = torch.arange(1.0, 9.0)[None]
    q, sf = cast_to_e5m6(x, 8)
    assert sf.view(torch.int32).item() == 0x39010204
    assert hexed(q) == "75 3F F7 6F F7 78 7F F7 BF F7 7A 9F"
    q, sf = cast_to_e5m6(x, 8, True, True, True)
    assert sf.item() == 115 and sf.stride() == (1, 4)
    assert hexed(q) == "72 00 07 6C 07 75 40 07 80 07 77 60"
    assert cast_to_e5m6(0 * x, 8)[1].view(torch.int32).item() == 0x30D35DD3
    assert cast_to_e5m6(0 * x, 8, True, True, True)[1].item() == 98


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("flags", [(False, True, False), (False, False, False), (True, True, True)])
@pytest.mark.parametrize("group", [64, 576])
def test_there_and_back(dtype: torch.dtype, flags: tuple, group: int) -> None:
    x = torch.randn(5, 576).to(dtype)
    pair = cast_to_e5m6(x, group, *flags)
    assert pair[0].shape == (5, 864) and pair[0].dtype == torch.uint8
    back = cast_back_from_e5m6(pair, "fp32", (1, group))
    assert calc_diff(back, x) < 1e-4
    assert_equal(cast_back_from_e5m6(pair, "bf16", (1, group)), back.bfloat16())
    assert cast_to_e5m6(x[:0], group, *flags)[0].shape == (0, 864)


@pytest.mark.parametrize("value", [2**-20, 2**-14 * 63 / 64, 2**-14])
def test_small_numbers_beside_the_largest(value: float) -> None:
    x = torch.full((4, 128), value)
    x[:, -1] = 65024
    q, sf = cast_to_e5m6(x, 128)
    assert torch.equal(sf, torch.ones(4, 1))
    assert_equal(cast_back_from_e5m6((q, sf), "fp32", (1, 128)), x)


def test_rows_are_whole_groups_of_eight() -> None:
    with pytest.raises(AssertionError, match="a multiple of 8"):
        cast_to_e5m6(torch.zeros(1, 12), 12)
    with pytest.raises(AssertionError, match="a multiple of 12"):
        unpacked(torch.zeros(1, 14, dtype=torch.uint8))
