"""cast_back and per_token_cast_back, bit for bit beside the reference; and what they refuse."""

import pytest
import torch

from tile_kernels import config
from tile_kernels.quant import cast_back, per_token_cast_back
from tile_kernels.testing.numeric import assert_equal
from tile_kernels.torch import cast
from tile_kernels.torch import cast_back as reference

from .sf_flags import FLAGS

DEVICE = config.get_device()
BLOCKS = [(1, 16), (1, 32), (1, 64), (1, 128), (1, 7), (128, 128), (32, 32), (32, 128)]
TOKENS_BLOCKS = [(128, 1), (32, 1)]
CASES = [
    (flags, block)
    for flags, options in FLAGS.items()
    for block in BLOCKS + TOKENS_BLOCKS
    if block[1] > 1 or not options.get("use_tma_aligned_col_major_sf")
]


@pytest.mark.parametrize(("flags", "block"), CASES)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
def test_blocks(flags: str, fmt: str, block: tuple[int, int]) -> None:
    torch.manual_seed(0)
    for m, k in [(0, 576), (1, 576), (150, 576), (5, 4608)]:
        x = torch.randn(m, k, device=DEVICE)
        pair = cast(x, fmt, block, **FLAGS[flags])
        for to in ("bf16", "fp32"):
            found = cast_back(pair, to, block)
            assert_equal(found, reference(pair, to, block))
            if block[0] == 1:
                assert_equal(per_token_cast_back(pair, to, block[1]), found)


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
def test_whole_rows(flags: str, fmt: str) -> None:
    pair = cast(torch.randn(9, 576, device=DEVICE), fmt, (1, 576), **FLAGS[flags])
    assert_equal(per_token_cast_back(pair, "fp32", 576), reference(pair, "fp32", (1, 576)))


def test_all_codes_and_exponents() -> None:
    codes = torch.arange(256, dtype=torch.uint8, device=DEVICE).view(4, 64)
    words = torch.arange(256, dtype=torch.uint8, device=DEVICE).view(64, 4).view(torch.int32)
    for data in (
        codes.view(torch.float8_e4m3fn).repeat(16, 2),
        codes.view(torch.int8).repeat(16, 1),
    ):
        found = cast_back((data, words), "fp32", (1, 32))
        wanted = reference((data, words), "fp32", (1, 32))
        nan = wanted.isnan()
        assert torch.equal(found.isnan(), nan)
        assert_equal(found.masked_fill(nan, 0), wanted.masked_fill(nan, 0))


def test_factors_may_be_a_slice_along_tokens() -> None:
    pair = cast(torch.randn(64, 256, device=DEVICE), "e4m3", (1, 32), **FLAGS["packed columns"])
    part = (pair[0][8:40], pair[1][8:40])
    assert_equal(cast_back(part, "fp32", (1, 32)), reference(pair, "fp32", (1, 32))[8:40])


CODES = torch.zeros(4, 128, device=DEVICE).to(torch.float8_e4m3fn)
SF = torch.ones(4, 4, device=DEVICE)

COLUMNS = torch.ones(1, 512, device=DEVICE).as_strided((1, 128), (1, 4))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fmt": "fp16"}, "fmt is 'fp16'"),
        ({"x": CODES}, "tuple"),
        ({"x": (CODES.float(), SF)}, "f32"),
        ({"x": (CODES[:, :96], SF)}, "multiple of 64"),
        ({"x": (CODES, SF.double())}, "f64"),
        ({"x": (CODES, SF[0])}, r"\[4\]"),
        ({"x": (CODES, SF[:, :3])}, "sf"),
        ({"x_block_size": (1, 0)}, "0"),
        ({"x_block_size": (1, 64)}, "sf"),
        ({"x": (CODES, COLUMNS), "x_block_size": (32, 1)}, "column"),
        ({"x_special_fmt": "e3m2"}, "e3m2"),
    ],
)
def test_what_does_not_fit_is_an_assertion(change: dict, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        cast_back(**{"x": (CODES, SF), "fmt": "bf16", "x_block_size": (1, 32), **change})
