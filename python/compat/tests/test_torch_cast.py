"""The references of casts: the check values that define them."""

import pytest
import torch

from tile_kernels import config, quant
from tile_kernels.quant.common import CastInputConfig
from tile_kernels.testing.numeric import assert_equal, calc_diff
from tile_kernels.torch import batched_transpose_weight_sf, cast, cast_back, per_channel_cast_fused
from tile_kernels.torch.cast import (
    convert_to_e2m1_bits,
    get_max_quant_val,
    transform_sf,
    transpose_weight_sf,
)
from tile_kernels.torch.per_channel_cast_fused import per_channel_cast_fused as same_function

from .sf_flags import FLAGS

E4M3, E2M1 = torch.float8_e4m3fn, torch.int8


def hexed(x: torch.Tensor) -> str:
    return " ".join(f"{b:02X}" for b in x.flatten().clone().view(torch.uint8).tolist())


def word(x: torch.Tensor) -> str:
    return f"{x.contiguous().view(torch.int32).item() & 0xFFFFFFFF:08X}"


@pytest.mark.parametrize(
    ("fmt", "mode", "sf", "codes"),
    [
        ("e4m3", "plain", "3BB6DB6E", "73 E5 46 FE"),
        ("e4m3", "round", "3C000000", "70 E2 42 FA"),
        ("e4m3", "e4m3", "03", "73 E5 46 FD"),
        ("e2m1", "plain", "3ED55555", "94 F0"),
        ("e2m1", "round", "3F000000", "94 E0"),
        ("e2m1", "e4m3", "2D", "94 F0"),
    ],
)
def test_a_group_of_four(fmt: str, mode: str, sf: str, codes: str) -> None:
    x = torch.tensor([[1.0, -0.3, 0.02, -2.5]])
    q, factor = cast(x, fmt, (1, 4), **FLAGS[mode])
    assert hexed(q) == codes
    assert (hexed(factor) if mode == "e4m3" else word(factor)) == sf


def test_conversions_to_e4m3() -> None:
    y = torch.tensor([[2**-10, 1.01 * 2**-10, 3 * 2**-10, 17, 18, 19, 456, -0.0, 464, 500, -1e9]])
    q = cast(y, "e4m3", (1, 11), sf=torch.ones(1, 1))
    assert hexed(q) == "00 01 02 58 59 5A 7E 80 7E 7E FE"


def test_conversions_to_e2m1() -> None:
    y = [0.25, 0.26, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 5.01, -0.25, 1e9, -torch.inf, 0.7499, 3.4999]
    codes = convert_to_e2m1_bits(torch.tensor(y))
    assert codes.tolist() == [0, 1, 2, 2, 4, 4, 6, 6, 7, 8, 7, 15, 1, 5]
    assert convert_to_e2m1_bits(torch.tensor([torch.nan]), 6.0, "cpu").item() & 7 == 7
    assert [get_max_quant_val(d) for d in (E2M1, E4M3)] == [6.0, 448.0]


@pytest.mark.parametrize(
    ("fmt", "amax", "exponent"),
    [("e4m3", 448, 127), ("e2m1", 6, 127), ("e2m1", 7, 128), ("e2m1", 3, 126), ("e4m3", 0, 105)],
)
def test_powers_of_two_at_their_boundaries(fmt: str, amax: float, exponent: int) -> None:
    x = torch.tensor([[amax]], dtype=torch.float32).expand(1, 2)
    _, sf = cast(x, fmt, (1, 2), **FLAGS["packed"])
    assert sf.item() == exponent
    if amax in (448, 6):
        _, sf = cast(torch.nextafter(x, x + 1), fmt, (1, 2), **FLAGS["packed"])
        assert sf.item() == exponent + 1
        _, sf = cast(torch.nextafter(x, x - 1), fmt, (1, 2), **FLAGS["packed"])
        assert sf.item() == exponent


@pytest.mark.parametrize(
    ("fmt", "mode", "sf"),
    [
        ("e4m3", "plain", "346FACAD"),
        ("e4m3", "round", f"{105 << 23:08X}"),
        ("e4m3", "e4m3", "01"),
        ("e2m1", "plain", "00800000"),
        ("e2m1", "round", f"{1 << 23:08X}"),
        ("e2m1", "e4m3", "01"),
    ],
)
def test_zeros_keep_their_signs(fmt: str, mode: str, sf: str) -> None:
    q, factor = cast(torch.tensor([[0.0, -0.0]]), fmt, (1, 2), **FLAGS[mode])
    assert hexed(q) == ("00 80" if fmt == "e4m3" else "80")
    assert (hexed(factor) if mode == "e4m3" else word(factor)) == sf


def test_factors_of_e4m3_saturate_and_so_do_codes() -> None:
    q, sf = cast(torch.tensor([[5.0, 0.0]]), "e2m1", (1, 2), use_e4m3_sf=True)
    assert sf.float().item() == 0.8125 and hexed(q) == "07"
    q, sf = cast(torch.tensor([[3000.0, -3000.0]]), "e2m1", (1, 2), use_e4m3_sf=True)
    assert hexed(sf) == "7E" and hexed(q) == "F7"
    q, sf = cast(torch.tensor([[448 * 500.0, 1.0]]), "e4m3", (1, 2), use_e4m3_sf=True)
    assert hexed(sf) == "7E" and hexed(q)[:2] == "7E"


@pytest.mark.parametrize("mode", ["plain", "round"])
def test_infinity_is_the_largest_code(mode: str) -> None:
    x = torch.tensor([[torch.inf, -torch.inf, 0.0, -0.0]])
    q, sf = cast(x, "e4m3", (1, 4), **FLAGS[mode])
    assert hexed(q) == "7E FE 00 80" and sf.isfinite().all()


def test_nan_does_not_count() -> None:
    q, sf = cast(torch.tensor([[torch.nan, 1.0], [torch.nan, torch.nan]]), "e4m3", (1, 2))
    assert sf[0].item() == torch.tensor(1 / 448, dtype=torch.float32)
    assert word(sf[1]) == "346FACAD" and q[0].float().isnan().tolist() == [True, False]


def test_zeros_stay_zeros_whatever_their_factor() -> None:
    zeros = torch.tensor([[0x80 - 256] * 8] * 1, dtype=torch.int8)  # pairs of 0 and -0
    q, sf = cast((zeros, torch.full((1, 1), 8.0)), "e2m1", (1, 16), x_block_size=(1, 16))
    assert_equal(q, zeros)
    assert word(sf) == "00800000"


def test_columns_of_factors_begin_at_16_bytes() -> None:
    x = torch.randn(5, 320)
    _, sf = cast(x, "e4m3", (1, 64), **FLAGS["packed columns"])
    assert sf.shape == (5, 2) and sf.stride() == (1, 8) and sf.dtype == torch.int32
    _, rows = cast(x, "e4m3", (1, 64), **FLAGS["packed"])
    assert_equal(sf.contiguous(), rows)
    _, exact = cast(x, "e4m3", (1, 64), round_sf=True)
    exponents = (exact.view(torch.int32) >> 23).to(torch.uint8)
    stored = rows.view(torch.uint8)
    assert torch.equal(stored[:, :5], exponents) and not stored[:, 5:].any()
    assert cast(x, "e4m3", (1, 64), **FLAGS["columns"])[1].stride() == (1, 8)
    assert cast(x, "e4m3", (1, 64), **FLAGS["e4m3 columns"])[1].stride() == (1, 16)
    assert cast(x[:1], "e4m3", (1, 64), **FLAGS["columns"])[1].stride() == (1, 4)


def test_factors_of_columns_are_packed_along_tokens() -> None:
    x = torch.randn(160, 64)
    _, sf = cast(x, "e4m3", (32, 1), **FLAGS["packed"])
    assert sf.shape == (2, 64) and sf.is_contiguous()
    _, exact = cast(x, "e4m3", (32, 1), round_sf=True)
    layout = CastInputConfig(sf_block=(32, 1), use_packed_ue8m0=True)
    grid = transform_sf(sf, layout)
    assert_equal(grid[:5], exact)
    assert grid.shape == (8, 64) and not grid[5:].any()
    with pytest.raises(AssertionError, match="can't be column-major"):
        cast(x, "e4m3", (32, 1), **FLAGS["packed columns"])


def test_a_column_of_a_quantised_group() -> None:
    x = torch.arange(-16.0, 16.0)[:, None].expand(32, 2)
    q, sf = cast(x, "e4m3", (32, 1), round_sf=True)
    assert sf[0, 0] == 2**-4
    assert hexed(q[31, :1]) == "77" and hexed(q[0, :1]) == "F8"


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("block", [(1, 16), (1, 128), (32, 128), (128, 32), (32, 1)])
def test_what_is_cast_comes_back(flags: str, fmt: str, block: tuple[int, int]) -> None:
    if block[1] == 1 and flags == "packed columns":
        return  # refused, see above
    x = torch.randn(70, 192)
    pair = cast(x, fmt, block, **FLAGS[flags])
    back = cast_back(pair, "fp32", block)
    assert calc_diff(back, x) < (1e-3 if fmt == "e4m3" and "e4m3" not in flags else 2e-2)
    assert_equal(cast_back(pair, "bf16", block), back.bfloat16())
    empty = cast(x[:0], fmt, block, **FLAGS[flags])
    assert [t.shape[0] for t in empty] == [0, 0] and empty[1].shape[1] == pair[1].shape[1]
    assert cast_back(empty, "fp32", block).shape == (0, 192)


def test_casting_back() -> None:
    q = torch.tensor([[0x73, 0xE5, 0x46, 0xFE]], dtype=torch.uint8).view(E4M3)
    sf = torch.tensor([[0x3BB6DB6E]], dtype=torch.int32).view(torch.float32)
    back = cast_back((q, sf), "fp32", (1, 4))
    assert [word(v) for v in back[0]] == ["3F7B6DB7", "BE949249", "3CA00000", "C0200000"]
    half = cast_back((q, sf), "bf16", (1, 4)).view(torch.int16)
    assert [f"{v & 0xFFFF:04X}" for v in half[0].tolist()] == ["3F7B", "BE95", "3CA0", "C020"]


def test_exponents_are_shifted_as_they_are() -> None:
    packed = torch.tensor([[0x00FF7F01]], dtype=torch.int32)
    assert [word(v) for v in transform_sf(packed)[0]] == [
        "00800000",
        "3F800000",
        "7F800000",
        "00000000",
    ]


def test_the_clamp_is_what_is_set_when_a_cast_is_made() -> None:
    x = torch.tensor([[0.25, 0.0]])
    config.set_amax_clamp_for_quant("e4m3", False, 448.0)
    assert cast(x, "e4m3", (1, 2))[1].item() == 1
    config.reset_runtime_config()
    assert cast(x, "e4m3", (1, 2))[1].item() == torch.tensor(0.25) / torch.tensor(448.0)


def test_factors_of_weights_for_both_operands() -> None:
    n = torch.arange(4)
    sf = (2.0 ** (n[:, None] - 2 * n)).float()
    ((sf0, sf1),) = batched_transpose_weight_sf([sf], 32, [False])
    assert sf0.shape == (128, 1) and sf0.stride() == (1, 128) and sf1.stride() == (1, 128)
    as_words = [f"{v & 0xFFFFFFFF:08X}" for v in sf0[::32, 0].tolist()]
    assert as_words[:2] == ["797B7D7F", "7A7C7E80"]
    as_words = [f"{v & 0xFFFFFFFF:08X}" for v in sf1[::32, 0].tolist()]
    assert as_words[:2] == ["8281807F", "807F7E7D"]
    assert len(set(sf0[:32, 0].tolist())) == 1
    transposed = transpose_weight_sf(sf, 32, True)[1]
    assert transposed.shape == (1, 128) and torch.equal(transposed.T, sf1)


def test_factors_of_batches_of_weights() -> None:
    sf = 2.0 ** torch.randint(-9, 9, (2, 5, 3)).float()
    sf0, sf1 = transpose_weight_sf(sf, 128, False)
    assert sf0.shape == (2, 640, 1) and sf0.stride() == (640, 1, 640)
    assert sf1.shape == (2, 384, 2) and sf1.stride() == (768, 1, 384)
    _, flat = transpose_weight_sf(sf, 128, True)
    assert flat.shape == (2, 2, 384) and flat.stride() == (768, 384, 1)
    assert torch.equal(flat.transpose(1, 2), sf1)
    one = transpose_weight_sf(sf[1], 128, False)
    assert torch.equal(one[0], sf0[1]) and torch.equal(one[1], sf1[1])
    exponents = (sf.view(torch.int32) >> 23).to(torch.uint8)
    found = sf1.contiguous().view(torch.uint8)
    assert torch.equal(found[1, 300, :5], exponents[1, :, 2]) and not found[..., 5:].any()


def test_gathered_rows_are_cast_like_rows() -> None:
    assert per_channel_cast_fused is same_function
    x = torch.randn(256, 128)
    index = torch.randint(-1, 256, (144,), dtype=torch.int32)
    rows = torch.where((index >= 0)[:, None], x[index.clamp(min=0)], 0)
    for plain in (True, False):
        given, wanted, group = x, rows, None
        if not plain:
            given, group = cast(x, "e4m3", (1, 128)), 128
            wanted = cast_back(given, "fp32", (1, 128))[index.clamp(min=0)]
            wanted = torch.where((index >= 0)[:, None], wanted, 0)
        q, sf = per_channel_cast_fused(given, 128, group, True, index)
        again = cast(wanted, "e4m3", (128, 1), round_sf=True)
        assert_equal(q, again[0])
        assert_equal(sf, again[1])
    empty = per_channel_cast_fused(x, 128, None, False, index[:0])
    assert [t.shape for t in empty] == [(0, 128), (0, 128)]
    all_rows = per_channel_cast_fused(x, 128, None, False, None)
    assert_equal(all_rows[0], cast(x, "e4m3", (128, 1))[0])


def test_two_codes_are_unpacked() -> None:
    x = torch.tensor([[0x21, 0xF7 - 256]], dtype=torch.int8)
    assert quant.unpack_from_e2m1fn_x2(x).tolist() == [[0.5, 1.0, 6.0, -6.0]]
    half = quant.unpack_from_e2m1fn_x2(x.view(torch.uint8)[0], torch.bfloat16)
    assert half.dtype == torch.bfloat16 and half.shape == (4,)
    with pytest.raises(ValueError, match="no dimension"):
        quant.unpack_from_e2m1fn_x2(torch.tensor(1, dtype=torch.int8))


X = torch.zeros(4, 64)
PAIR = (X.to(E4M3), torch.ones(4, 2))


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (X, {"fmt": "e5m2"}, "fmt is 'e5m2'"),
        (X, {"use_packed_ue8m0": True}, "use_packed_ue8m0 needs round_sf"),
        (X, {"round_sf": True, "use_e4m3_sf": True}, "exclude each other"),
        (X, {"x_block_size": (1, 32)}, "is given for x without factors"),
        (X.half(), {}, "must be bfloat16 or float32"),
        (PAIR, {}, "its block size must be given"),
        ((X, PAIR[1]), {"x_block_size": (1, 32)}, "codes are"),
        ((PAIR[0], PAIR[1].double()), {"x_block_size": (1, 32)}, "sf is torch.float64"),
        ((PAIR[0], torch.ones(4, 4)[:, ::2]), {"x_block_size": (1, 32)}, "one of which must be 1"),
        (X, {"sf": torch.ones(4, 3)}, r"sf is \[4, 3\], not \[1, 2\]"),
        (X, {"sf": torch.ones(1, 2), "use_e4m3_sf": True}, "it must be torch.float8_e4m3fn"),
        (X, {"sf": torch.ones(1, 2), **FLAGS["columns"]}, "row-major and unpacked"),
    ],
)
def test_what_does_not_fit_is_refused(x: object, options: dict, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        cast(x, **{"fmt": "e4m3", **options})
