"""per_block_cast_lossless: values stay, bit for bit; what can't be kept stops."""

import pytest
import torch

from tile_kernels import config
from tile_kernels.quant import cast_back, per_block_cast_lossless
from tile_kernels.testing.generator import generate_rand_float
from tile_kernels.testing.numeric import assert_equal
from tile_kernels.torch import cast
from tile_kernels.torch.cast import transform_sf

from .sf_flags import FLAGS

DEVICE = config.get_device()
OUTPUTS = ["round", "packed columns", "packed"]


@pytest.mark.parametrize("out_block", [(1, 128), (32, 32), (128, 128)])
@pytest.mark.parametrize("given", OUTPUTS)
@pytest.mark.parametrize("flags", OUTPUTS)
def test_values_stay(out_block: tuple[int, int], given: str, flags: str) -> None:
    for seed, m in enumerate((0, 128, 161)):
        torch.manual_seed(seed)
        x = generate_rand_float((m, 576))
        least = x.abs().max() / 2**9 if m else 0.0
        x = torch.copysign(x.abs().clamp(min=least), x)
        pair = cast(x, "e2m1", (1, 32), **FLAGS[given])
        found = per_block_cast_lossless(pair, "e4m3", (1, 32), out_block, **FLAGS[flags])
        assert_equal(cast_back(found, "fp32", out_block), cast_back(pair, "fp32", (1, 32)))
        layout = cast(x, "e4m3", out_block, **FLAGS[flags])[1]
        assert found[1].shape == layout.shape and found[1].dtype == layout.dtype
        assert m == 0 or found[1].stride() == layout.stride()


@pytest.mark.parametrize("out_block", [(128, 512), (1, 65536), (2048, 32)])
def test_blocks_of_many_elements(out_block: tuple[int, int]) -> None:
    torch.manual_seed(1)
    x = torch.randn(161, 1152, device=DEVICE)
    x = torch.copysign(x.abs().clamp(min=2.0**-7), x)
    pair = cast(x, "e2m1", (1, 32), round_sf=True)
    found = per_block_cast_lossless(pair, "e4m3", (1, 32), out_block, **FLAGS["packed columns"])
    assert_equal(cast_back(found, "fp32", out_block), cast_back(pair, "fp32", (1, 32)))


def test_the_factor_is_that_of_the_largest() -> None:
    codes = torch.tensor([[7] + [0] * 15 + [1, 9] + [0] * 14], dtype=torch.int8, device=DEVICE)
    sf = torch.tensor([[1.0, 2.0**-7]], device=DEVICE)
    q, out = per_block_cast_lossless((codes, sf), "e4m3", (1, 32), (1, 64), round_sf=True)
    bytes_of_codes = q.view(torch.uint8)[0].tolist()
    assert out.item() == 2.0**-6 and bytes_of_codes[0] == 0x7C
    assert [bytes_of_codes[i] for i in (32, 34)] == [0x28, 0xA8]
    q, _ = per_block_cast_lossless(
        (codes, torch.tensor([[1.0, 2.0**-11]], device=DEVICE)), "e4m3", (1, 32), (1, 64)
    )
    assert q.view(torch.uint8)[0, 32].item() == 0x08


@pytest.mark.skipif(DEVICE != "cpu", reason="a fault of the device ends its use")
def test_what_cannot_be_kept_stops() -> None:
    codes = torch.zeros(1, 32, dtype=torch.int8)
    with pytest.raises(RuntimeError):
        sf = torch.tensor([[1.0, 2.0**-12]])
        per_block_cast_lossless((codes, sf), "e4m3", (1, 32), (1, 64))


def test_words_say_what_floats_say() -> None:
    pair = cast(torch.randn(32, 128, device=DEVICE) + 3, "e2m1", (1, 32), round_sf=True)
    words = per_block_cast_lossless(pair, "e4m3", (1, 32), (32, 32), **FLAGS["packed"])[1]
    floats = per_block_cast_lossless(pair, "e4m3", (1, 32), (32, 32))[1]
    assert_equal(transform_sf(words), floats)


CODES = torch.zeros(4, 64, dtype=torch.int8, device=DEVICE)
SF = torch.ones(4, 4, device=DEVICE)


@pytest.mark.parametrize(
    "change",
    [
        {"x": CODES}, {"x": (CODES.float(), SF)}, {"x": (CODES[0], SF)}, {"fmt": "e2m1"},
        {"x": (CODES[:, :24].contiguous(), SF)}, {"x": (CODES, SF[:, :3])},
        {"x": (CODES, SF.double())}, {"x_block_size": (1, 24)}, {"out_block_size": (1, 48)},
        {"out_block_size": (1, 16)}, {"x_block_size": (3, 32)}, {"use_packed_ue8m0": True},
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_assertion(change: dict) -> None:
    arguments = {
        "x": (CODES, SF), "fmt": "e4m3", "x_block_size": (1, 32), "out_block_size": (32, 32),
        **change,
    }  # fmt: skip
    with pytest.raises((AssertionError, RuntimeError), match="per_block_cast_lossless"):
        per_block_cast_lossless(**arguments)
