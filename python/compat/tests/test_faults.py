"""Inputs at which existing kernels of this API fail. Each test is named by function and input, and
holds at both API levels."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tile_kernels import config, moe, quant
from tile_kernels import torch as reference
from tile_kernels.testing.numeric import assert_equal
from tile_kernels.transform import apply_rotary
from tile_kernels.transpose import batched_transpose, transpose

from .sf_flags import FLAGS

DEVICE = config.get_device()
i32, i64 = torch.int32, torch.int64

on_cpu = pytest.mark.skipif(DEVICE != "cpu", reason="a fault of the device ends its use")


@pytest.fixture(autouse=True, params=["v1", "v2"])
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TK_API_LEVEL", request.param)
    return request.param


def full(shape: tuple[int, ...], value: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.full(shape, value, dtype=dtype, device=DEVICE)


def ints(*rows: list[int], dtype: torch.dtype = i64) -> torch.Tensor:
    return torch.tensor(rows, dtype=dtype, device=DEVICE)


# ---- experts: gates ----
def old_gate(logits: torch.Tensor, k: int, ep_rank: int = 0, **options: Any) -> tuple:
    ranks = {"num_ep_ranks": 1, "tp_rank": 0, "num_tp_ranks": 1, **options}
    bias = full((logits.shape[1],), 0)
    return moe.top2_sum_gate(logits, bias, k, 0, 0, False, 0, 1.0, ep_rank,
                             scoring_func="sigmoid", **ranks)  # fmt: skip


def new_gate(logits: torch.Tensor, k: int, ep_rank: int = 0, **options: Any) -> tuple:
    return moe.moe_topk_gate_forward(logits, k, False, 0, 1.0, ep_rank, **options)


GATES = pytest.mark.parametrize("gate", [old_gate, new_gate])


def test_topk_gate_of_more_than_32() -> None:
    with pytest.raises(AssertionError, match="topk_gate: num_topk is 40, it must be from 1 to 32"):
        moe.topk_gate(full((3, 64), 0), 40)


@on_cpu
@pytest.mark.parametrize("bad", [-torch.inf, torch.nan, torch.inf])
def test_topk_gate_of_fewer_scores_than_it_must_choose(bad: float) -> None:
    scores = full((2, 8), bad)
    scores[0], scores[1, :3] = 1.0, 1.0
    with pytest.raises(RuntimeError, match="topk_gate"):
        moe.topk_gate(scores, 4)


@on_cpu
@GATES
@pytest.mark.parametrize("bad", [8, 1 << 40])
def test_gates_with_a_fixed_expert_that_there_is_not(gate: Callable, bad: int) -> None:
    fixed = {"fix_routing_mask": full((2,), True, torch.bool)}
    with pytest.raises(RuntimeError, match="no such expert of this token"):
        gate(full((2, 8), 0), 2, **fixed, unmapped_topk_idx=ints([0, 1], [2, bad]))
    idx, _ = gate(full((2, 8), 0), 2, **fixed, unmapped_topk_idx=ints([0, 1], [2, 7]))
    assert idx.tolist() == [[0, 1], [2, 7]]


@GATES
def test_gates_with_duplicates_of_more_than_92036_tokens(gate: Callable) -> None:
    tokens = 92050
    table = torch.arange(20, dtype=i32, device=DEVICE).view(4, 5)
    idx, _ = gate(
        full((tokens, 4), 0), 1, 3, to_physical_map=table, logical_count=full((4,), 5, i32)
    )
    wanted = (3 + torch.arange(tokens, device=DEVICE) * 23333) % 5
    assert torch.equal(idx[:, 0], wanted)


@GATES
def test_gates_with_duplicates_of_a_negative_rank(gate: Callable) -> None:
    for tokens in (0, 2):
        with pytest.raises(AssertionError, match="ep_rank is -1"):
            options = {"to_physical_map": full((8, 2), 0, i32), "logical_count": full((8,), 2, i32)}
            gate(full((tokens, 8), 0), 2, -1, **options)


def test_moe_topk_gate_forward_of_33_slots() -> None:
    for k, shared in ((32, 1), (31, 2)):
        with pytest.raises(AssertionError, match="more than 32"):
            moe.moe_topk_gate_forward(full((2, 64), 0), k, True, shared, 1.0, 0)


def test_ranks_without_experts() -> None:
    with pytest.raises(AssertionError, match="top2_sum_gate: 8 experts on 9 ranks leave none"):
        old_gate(full((2, 8), 0), 2, num_ep_ranks=9)
    with pytest.raises(AssertionError, match="mask_indices_by_tp: 8 experts on 9 ranks leave none"):
        moe.mask_indices_by_tp(ints([0, 1]), 8, 9, 0, 1)


# ---- experts: numbers and layouts ----
def test_mask_indices_by_tp_of_int32() -> None:
    for dtype in (i32, i64):
        found = moe.mask_indices_by_tp(
            ints([0, 2, 7, -1], [15, 10, 4, 3], dtype=dtype), 16, 8, 1, 2
        )
        assert_equal(found, ints([-1, 0, 3, -1], [7, 4, -1, 1], dtype=dtype))


def test_counts_of_entries_below_minus_one() -> None:
    idx = ints([0, -2], [-(2**40), 1], [-(2**63), 1])
    assert_equal(moe.group_count(idx, 4), torch.tensor([1, 2, 0, 0], dtype=i32, device=DEVICE))
    wanted = torch.tensor([4 / 3, 8 / 3, 0, 0], device=DEVICE)
    assert torch.equal(moe.aux_fi(idx, 4, 1), wanted)


@pytest.mark.parametrize(("experts", "top"), [(1 << 17, 1), (4, 1 << 17), (1 << 17, 1 << 17)])
def test_aux_fi_beyond_32_bits(experts: int, top: int) -> None:
    """Of 2^15 tokens, half of which chose expert 3: a count times experts, or tokens times top,
    or both are above 2^31."""
    idx = torch.arange(1 << 15, device=DEVICE)[:, None] % 2 * 3
    found = moe.aux_fi(idx, experts, top)
    assert found[0].item() == found[3].item() == (1 << 14) * experts / ((1 << 15) * top)
    assert found.sum().item() == 2 * found[0].item()


def test_get_fused_mapping_of_size_0_without_waiting() -> None:
    idx = ints([1, 0], [1, -1], [3, 1])
    maps = moe.get_fused_mapping(idx, 4, 0, 4, force_no_sync=True)
    assert [m.numel() for m in maps[:3]] == [0, 0, 0] and maps[7] == []
    assert maps[3].tolist() == [[4, 0], [5, -1], [8, 6]]
    assert [m.tolist() for m in maps[4:7]] == [[0, 4, 8, 8], [4, 8, 8, 12], [4, 4, 0, 4]]


def test_get_fused_mapping_of_any_negative_entry_and_too_small_a_size() -> None:
    idx = ints([1, 0], [1, -(2**40)], [3, 1])
    whole = moe.get_fused_mapping(idx, 4, 0, 4)
    assert whole[3].tolist() == [[4, 0], [5, -1], [8, 6]]
    for size in (1, 5, 11):
        maps = moe.get_fused_mapping(idx, 4, size, 4)
        for found, wanted in zip(maps[:3], whole[:3], strict=True):
            assert_equal(found, wanted[:size])
        for found, wanted in zip(maps[3:7], whole[3:7], strict=True):
            assert_equal(found, wanted)


@on_cpu
def test_get_fused_mapping_of_an_expert_that_there_is_not() -> None:
    for bad in (4, 1 << 40):
        with pytest.raises(RuntimeError, match="get_fused_mapping"):
            moe.get_fused_mapping(ints([0, bad]), 4, 16, 4)


def test_expand_to_fused_of_no_tokens() -> None:
    to_pos, padding = full((0, 2), 0, i32), full((19,), -1, i32)
    x, sf = full((0, 96), 0, torch.bfloat16), full((0, 3), 0)
    assert_equal(moe.expand_to_fused(x, to_pos, padding), full((19, 96), 0, torch.bfloat16))
    for columns in (False, True):
        found = moe.expand_to_fused_with_sf((x, sf), 32, to_pos, padding, columns)
        assert not found[0].any() and not found[1].any()
        assert [t.shape for t in found] == [(19, 96), (19, 3)]


def test_sums_above_464_as_e4m3() -> None:
    values = torch.tensor([464, 464.1, 500, 1e30, torch.inf], device=DEVICE)
    x = torch.cat([values, -values])[:, None].expand(10, 256).contiguous()
    to_pos = torch.arange(10, dtype=i32, device=DEVICE)[:, None]
    for reduce in (reference.reduce_fused, moe.reduce_fused):
        found = reduce(x, None, to_pos, "e4m3").float()
        assert torch.equal(found, 448 * x.sign())


def test_topk_sum_and_topk_group_idx_of_one_token() -> None:
    scores = torch.randn(1, 8, 4, device=DEVICE)
    for rank in (reference.topk_sum_and_topk_group_idx, moe.topk_sum_and_topk_group_idx):
        assert rank(scores, 2, 3).stride() == (3, 1)


# ---- casts ----
def test_cast_back_of_e2m1_by_packed_columns() -> None:
    for k in (576, 64, 1088):
        x = torch.randn(70, k, device=DEVICE)
        pair = reference.cast(x, "e2m1", (1, 32), **FLAGS["packed columns"])
        found = quant.cast_back(pair, "fp32", (1, 32))
        assert_equal(found, reference.cast_back(pair, "fp32", (1, 32)))


@pytest.mark.parametrize("source", ["e4m3", "e2m1"])
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("factor", [4.0, 6.5, 2.0**100])
def test_zeros_with_a_large_factor(source: str, fmt: str, factor: float) -> None:
    """Factor times inverse is infinite."""
    x = torch.cat([full((1, 64), 0), full((1, 64), -0.0)])
    codes, _ = reference.cast(x, source, (1, 32))
    pair = (codes, full((2, 2), factor))
    wanted, _ = reference.cast(x, fmt, (1, 32))
    for cast in (
        lambda **flags: quant.per_token_cast(pair, fmt, 32, (1, 32), **flags),
        lambda **flags: reference.cast(pair, fmt, (1, 32), x_block_size=(1, 32), **flags),
    ):
        for flags in ("plain", "round", "packed columns", "e4m3"):
            assert_equal(cast(**FLAGS[flags])[0], wanted)


@pytest.mark.parametrize(
    ("source", "fmt", "ratio"),
    [("e4m3", "e4m3", 19 / 18), ("e4m3", "e2m1", 28 / 27), ("e2m1", "e4m3", 29 / 28),
     ("e2m1", "e2m1", 7 / 6)],
)  # fmt: skip
def test_the_reference_multiplies_factors_once(source: str, fmt: str, ratio: float) -> None:
    """Of factors that are no powers of two. The ratio makes codes beside the largest lie between
    two others, where the last bit of a product decides."""
    torch.manual_seed(3)
    codes = torch.full((256, 64), 0x59 if source == "e4m3" else 3, dtype=torch.uint8)
    codes[:, :32] = 0
    codes[:, 0] = 0x7E if source == "e4m3" else 7
    if source == "e4m3":
        data = codes.view(torch.float8_e4m3fn)
    else:
        data = (codes[:, ::2] | codes[:, 1::2] << 4).view(torch.int8)
    first = 1 + torch.rand(256, 1)
    pair = (data.to(DEVICE), torch.cat([first, first * ratio], 1).to(DEVICE))
    found = quant.per_token_cast(pair, fmt, 64, (1, 32))
    wanted = reference.cast(pair, fmt, (1, 64), x_block_size=(1, 32))
    for x, y in zip(found, wanted, strict=True):
        assert_equal(x, y)
    twice = reference.cast(quant.cast_back(pair, "fp32", (1, 32)), fmt, (1, 64))
    assert_equal(wanted[1], twice[1])
    assert not torch.equal(wanted[0].view(torch.uint8), twice[0].view(torch.uint8))


@pytest.mark.parametrize(("fmt", "largest"), [("e4m3", 448.0), ("e2m1", 6.0)])
def test_factors_of_e4m3_above_464(fmt: str, largest: float) -> None:
    x = torch.randn(6, 128, device=DEVICE)
    x[:, 5] = torch.tensor([464, 465, 500, 1e4, 1e30, -1e30], device=DEVICE) * largest
    for cast in (
        lambda: quant.per_token_cast(x, fmt, 128, use_e4m3_sf=True),
        lambda: reference.cast(x, fmt, (1, 128), use_e4m3_sf=True),
    ):
        codes, sf = cast()
        assert torch.equal(sf.float(), full((6, 1), 448))
        value = reference.cast_back((codes, sf), "fp32", (1, 128))
        assert torch.equal(value[:, 5], 448 * largest * x[:, 5].sign())


def plain(m: int = 128, k: int = 128, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.ones(m, k, dtype=dtype, device=DEVICE)


CASTS: dict[str, Callable] = {
    "per_token_cast": lambda x, **f: quant.per_token_cast(x, "e4m3", 32, **f),
    "per_token_cast_with_sf_only": lambda x, **f: (
        None, quant.per_token_cast_with_sf_only(x, "e4m3", 32, **f)),
    "per_block_cast": lambda x, **f: quant.per_block_cast(x, "e4m3", (32, 32), **f),
    "per_block_cast_with_sf_only": lambda x, **f: (
        None, quant.per_block_cast_with_sf_only(x, "e4m3", (32, 32), **f)),
    "per_channel_cast": lambda x, **f: quant.per_channel_cast(x, "e4m3", 32, **f),
    "reference": lambda x, **f: reference.cast(x, "e4m3", (1, 32), **f),
}  # fmt: skip


@pytest.mark.parametrize("name", CASTS)
def test_packed_factors_that_are_not_rounded(name: str) -> None:
    with pytest.raises(AssertionError, match="needs round_sf"):
        CASTS[name](plain(), use_packed_ue8m0=True)
    if name != "per_channel_cast":  # whose words are of tokens, which columns are not
        with pytest.raises(AssertionError, match="needs round_sf"):
            CASTS[name](plain(), use_packed_ue8m0=True, use_tma_aligned_col_major_sf=True)


def test_packed_factors_of_a_lossless_cast_that_are_not_rounded() -> None:
    pair = (full((32, 32), 0, torch.int8), full((32, 2), 1))
    with pytest.raises(AssertionError, match="needs round_sf"):
        quant.per_block_cast_lossless(pair, "e4m3", (1, 32), (32, 32), use_packed_ue8m0=True)


@pytest.mark.parametrize("name", CASTS)
def test_packed_factors_that_are_no_columns(name: str) -> None:
    """Words row by row hold the exponents of factors that are not packed."""
    x = torch.randn(128, 576, device=DEVICE)
    words = CASTS[name](x, **FLAGS["packed"])[1]
    floats = CASTS[name](x, **FLAGS["round"])[1]
    assert words.is_contiguous() and words.dtype == i32
    exponents = words.view(torch.uint8)
    if name == "per_channel_cast":
        exponents = exponents.view(1, 576, 4).transpose(1, 2).reshape(4, 576)
    wanted = (floats.contiguous().view(i32) >> 23).to(torch.uint8)
    assert torch.equal(exponents[:, : wanted.shape[1]], wanted)
    assert not exponents[:, wanted.shape[1] :].any()


@pytest.mark.parametrize("source", ["e4m3", "e2m1"])
def test_codes_to_groups_of_16(source: str) -> None:
    pair = reference.cast(torch.randn(35, 576, device=DEVICE), source, (1, 32))
    for flags in ("plain", "packed columns", "e4m3"):
        found = quant.per_token_cast(pair, "e2m1", 16, (1, 32), **FLAGS[flags])
        wanted = reference.cast(pair, "e2m1", (1, 16), x_block_size=(1, 32), **FLAGS[flags])
        for x, y in zip(found, wanted, strict=True):
            assert_equal(x, y)


def of_inf(dtype: torch.dtype, zeros: bool) -> torch.Tensor:
    """Inf and -Inf in the first block of 32 by 32, among zeros of both signs or other numbers."""
    x = plain(128, 128, dtype)
    x[:, ::3] = -1
    if zeros:
        x[:32, :32] = 0
        x[:32, 1:32:2] = -0.0
    x[3, 5], x[7, 9], x[3, 9], x[7, 5] = torch.inf, -torch.inf, torch.inf, -torch.inf
    return x


def back(pair: tuple, block: tuple[int, int]) -> torch.Tensor:
    return reference.cast_back(pair, "fp32", block)


INF: dict[str, tuple[Callable, tuple[int, int]]] = {
    "per_token_cast": (lambda x, fmt, f: quant.per_token_cast(x, fmt, 32, **f), (1, 32)),
    "per_block_cast": (lambda x, fmt, f: quant.per_block_cast(x, fmt, (32, 32), **f), (32, 32)),
    "reference": (lambda x, fmt, f: reference.cast(x, fmt, (1, 32), **f), (1, 32)),
    "per_channel_cast": (lambda x, fmt, f: quant.per_channel_cast(x, fmt, 32, **f), (32, 1)),
    "per_channel_cast_fused": (
        lambda x, fmt, f: quant.per_channel_cast_fused(x, fmt, 128, **f), (128, 1)),
    "per_channel_cast_and_transpose": (
        lambda x, fmt, f: transposed(quant.per_channel_cast_and_transpose(x, fmt, 32, **f)),
        (32, 1)),
}  # fmt: skip


def transposed(pair: tuple) -> tuple:
    return pair[0].T.contiguous(), pair[1]


@pytest.mark.parametrize("name", INF)
@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("flags", ["plain", "round"])
def test_infinity_is_the_largest_code(name: str, fmt: str, zeros: bool, flags: str) -> None:
    if "channel" in name and fmt == "e2m1":
        return  # there is no such cast
    cast, block = INF[name]
    dtypes = [torch.bfloat16] if "transpose" in name else [torch.bfloat16, torch.float32]
    for dtype in dtypes:
        x = of_inf(dtype, zeros)
        codes, sf = cast(x, fmt, FLAGS[flags])
        assert sf.isfinite().all() and (sf > 0).all()
        value = back((codes, torch.ones_like(sf)), block)  # of the codes alone
        largest = 448.0 if fmt == "e4m3" else 6.0
        # Of an infinite magnitude, as of the largest number, a factor of a power of two leaves
        # less than half of the codes unused.
        at = x.isinf()
        assert torch.equal(value.sign()[at], x.sign()[at].float())
        least = largest if flags == "plain" else largest / 2
        assert (value.abs()[at] >= least).all() and value.isfinite().all()
        grid = sf.repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)
        huge = grid > 1e30  # blocks with Inf: all else vanishes, and keeps its sign
        assert torch.equal(huge & ~at, (value == 0) & huge) and huge.sum() > 2
        assert torch.equal(value.signbit(), x.signbit())


@pytest.mark.parametrize("fmt", ["e4m3", "e2m1"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_infinity_there_and_back(fmt: str, dtype: torch.dtype) -> None:
    for flags in ("plain", "round"):
        x = of_inf(dtype, True)
        codes = reference.cast(x, fmt, (1, 32), **FLAGS[flags])
        wanted = reference.cast_back(codes, "fp32", (1, 32)).to(dtype)
        signs = x.signbit()
        quant.per_token_cast_and_cast_back(x, fmt, 32, **FLAGS[flags])
        assert_equal(x, wanted)
        assert torch.equal(x.signbit(), signs) and not x.isnan().any()


# ---- rotations and transposes ----
@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize(
    ("query", "key"), [((6, 2, 64), (5, 2, 64)), ((6, 2, 64), (7, 1, 64)),
                       ((2, 6, 2, 64), (2, 5, 2, 64)), ((2, 6, 2, 64), (1, 6, 2, 64)),
                       ((2, 6, 2, 64), (3, 4, 2, 64))]
)  # fmt: skip
def test_apply_rotary_of_a_key_of_other_tokens(query: tuple, key: tuple, positions: bool) -> None:
    q, k, table = torch.ones(query), torch.ones(key), torch.full((20, 64), 2.0)
    q, k, table = q.to(DEVICE), k.to(DEVICE), table.to(DEVICE)
    where = torch.zeros(query[:-2], dtype=i64, device=DEVICE) if positions else None
    with pytest.raises(AssertionError, match="apply_rotary: key is"):
        apply_rotary(q, table, k, where)
    assert torch.equal(q, torch.ones_like(q)) and torch.equal(k, torch.ones_like(k))


@pytest.mark.parametrize("m", [64, 128, 0])
def test_transpose_of_no_columns(m: int) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float8_e4m3fn):
        found = transpose(torch.empty(m, 0, dtype=dtype, device=DEVICE))
        assert found.shape == (0, m) and found.dtype == dtype and found.is_contiguous()
        found = batched_transpose(torch.empty(3, m, 0, dtype=dtype, device=DEVICE))
        assert found.shape == (3, 0, m) and found.dtype == dtype and found.is_contiguous()


def test_batched_transpose_of_matrices_with_other_strides() -> None:
    x = torch.zeros(2, 128, 64, device=DEVICE)
    for y in (x[:, :64], x.expand(2, 128, 64)[:1].expand(2, 128, 64)):
        with pytest.raises(
            AssertionError, match=r"batched_transpose: x is .* matrices must follow"
        ):
            batched_transpose(y)
