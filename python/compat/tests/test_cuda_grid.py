"""The sizes that the API's tests have, on an NVIDIA GPU: each hidden size with each number of
tokens, layouts and formats in turn. Results are compared bit for bit with the references."""

import itertools

import pytest
import torch

from tile_kernels import moe, quant
from tile_kernels import torch as reference
from tile_kernels.testing.generator import (
    generate_e5m6_inputs,
    generate_rand_float,
    generate_topk_idx,
)
from tile_kernels.testing.numeric import assert_equal, calc_diff, check_bias
from tile_kernels.torch import rotary_embedding_ref
from tile_kernels.transform import apply_rotary
from tile_kernels.transpose import batched_transpose, transpose

from .sf_flags import FLAGS

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no NVIDIA GPU")
HIDDEN = [128, 192, 384, 576, 768, 2048, 2560, 3072, 4096, 6144, 7168]
hidden_sizes = pytest.mark.parametrize("k", HIDDEN)
TOKENS = [0, 1, 512, 4001, 8001]
UNPACKED = ("plain", "round", "columns")
OF_BLOCKS = ("plain", "round", "packed", "packed columns")


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(sum(shape))
    return torch.randn(shape, device="cuda").to(dtype)


def assert_pairs(found: tuple, wanted: tuple) -> None:
    for x, y in zip(found, wanted, strict=True):
        assert_equal(x, y)


@hidden_sizes
def test_per_token_cast(k: int) -> None:
    groups = itertools.cycle([16, 32, 64, 128, k])
    dtypes = itertools.cycle([torch.bfloat16, torch.float32, torch.float32])
    for m, flags, fmt in itertools.product(TOKENS, FLAGS, ("e4m3", "e2m1")):
        x, g, options = normal(m, k, dtype=next(dtypes)), next(groups), FLAGS[flags]
        found = quant.per_token_cast(x, fmt, g, **options)
        assert_pairs(found, reference.cast(x, fmt, (1, g), **options))
        assert_equal(quant.per_token_cast_with_sf_only(x, fmt, g, **options), found[1])
        back = quant.per_token_cast_back(found, "fp32", g)
        assert_equal(back, reference.cast_back(found, "fp32", (1, g)))
        if flags in UNPACKED[:2]:
            assert calc_diff(back, x) < (1e-3 if fmt == "e4m3" else 2e-2)
            check_bias(back, x.float())
        if flags in ("plain", "round", "e4m3"):
            codes = quant.per_token_cast_with_precomputed_sf(x, fmt, g, found[1], **options)
            assert_equal(codes, reference.cast(x, fmt, (1, g), sf=found[1], **options))


@hidden_sizes
def test_per_token_cast_of_codes(k: int) -> None:
    groups = itertools.cycle([16, 32, 128])
    layouts = itertools.cycle(FLAGS)
    blocks = [(128, 128), (32, 32), (1, 32), (1, 128)]
    for m, block, source in itertools.product([0, 1, 512, 4001], blocks, ("e4m3", "e2m1")):
        given, flags, g = FLAGS[next(layouts)], FLAGS[next(layouts)], next(groups)
        x = reference.cast(normal(m, k), source, block, **given)
        for fmt in ("e4m3", "e2m1"):
            found = quant.per_token_cast(x, fmt, g, block, **flags)
            assert_pairs(found, reference.cast(x, fmt, (1, g), x_block_size=block, **flags))


@hidden_sizes
def test_per_block_cast_and_cast_back(k: int) -> None:
    blocks = [(128, 128), (32, 32), (32, 128), (128, 32)]
    dtypes = itertools.cycle([torch.bfloat16, torch.float32, torch.float32])
    cases = itertools.product([0, 128, 4001, 8064], blocks, OF_BLOCKS)
    for (m, block, flags), fmt in zip(cases, itertools.cycle(["e4m3", "e2m1", "e2m1"])):
        x, options = normal(m, k, dtype=next(dtypes)), FLAGS[flags]
        found = quant.per_block_cast(x, fmt, block, **options)
        assert_pairs(found, reference.cast(x, fmt, block, **options))
        assert_equal(quant.per_block_cast_with_sf_only(x, fmt, block, **options), found[1])
        if flags in UNPACKED:
            codes = quant.per_block_cast_with_precomputed_sf(x, fmt, block, found[1], **options)
            assert_equal(codes, reference.cast(x, fmt, block, sf=found[1], **options))
        for to in ("bf16", "fp32"):
            assert_equal(quant.cast_back(found, to, block), reference.cast_back(found, to, block))


@hidden_sizes
def test_per_channel_cast(k: int) -> None:
    cases = itertools.product([0, 128, 512, 4096, 8064], (32, 128), ("plain", "round", "packed"))
    sources = itertools.cycle(["packed", "plain", "packed columns", "columns"])
    for m, t, flags in cases:
        for dtype in (torch.bfloat16, torch.float32):
            x = normal(m, k, dtype=dtype)
            found = quant.per_channel_cast(x, "e4m3", t, **FLAGS[flags])
            assert_pairs(found, reference.cast(x, "e4m3", (t, 1), **FLAGS[flags]))
        if flags != "packed":
            x = normal(m, k, dtype=torch.bfloat16)
            q, sf = quant.per_channel_cast_and_transpose(x, "e4m3", t, flags == "round")
            wanted = reference.cast(x, "e4m3", (t, 1), **FLAGS[flags])
            assert_pairs((q, sf), (wanted[0].T.contiguous(), wanted[1]))
        if k % 128:
            continue
        for g in (32, 128):
            pair = reference.cast(normal(m + 64, k), "e4m3", (1, g), **FLAGS[next(sources)])
            x = (pair[0][:m], pair[1][:m])
            found = quant.per_channel_cast(x, "e4m3", t, num_per_channels=g, **FLAGS[flags])
            wanted = reference.cast(x, "e4m3", (t, 1), x_block_size=(1, g), **FLAGS[flags])
            assert_pairs(found, wanted)


PARAMS = [
    {"num_send_tokens": 4001, "num_topk": topk, "num_experts": experts // 8, "num_ep_ranks": 8}
    for topk in (1, 2, 6, 7, 8, 9)
    for experts in (72, 256)
]


@pytest.mark.parametrize("k", HIDDEN[5:])
def test_per_channel_cast_of_gathered_rows(k: int) -> None:
    for params in PARAMS[k % 5 :: 5]:
        idx = generate_topk_idx(params)
        index = moe.get_fused_mapping(idx, params["num_experts"], 0, 128)[1]
        x = normal(len(idx), k, dtype=torch.bfloat16)
        pair = reference.cast(x, "e4m3", (1, 128))
        for given, g in ((x, None), (pair, 128)):
            for round_sf in (False, True):
                found = quant.per_channel_cast_fused(given, "e4m3", 128, round_sf, g, index)
                wanted = reference.per_channel_cast_fused(given, 128, g, round_sf, index)
                assert_pairs(found, wanted)
    x = normal(4096, k)
    found = quant.per_channel_cast_fused(x, "e4m3", 128)
    assert_pairs(found, reference.cast(x, "e4m3", (128, 1)))


@hidden_sizes
def test_per_block_cast_lossless(k: int) -> None:
    layouts = itertools.cycle(["round", "packed columns", "packed", "round"])
    for m, block in itertools.product([0, 128, 4001, 8064], [(1, 128), (32, 32), (128, 128)]):
        x = generate_rand_float((m, k))
        least = x.abs().max() / 2**9 if m else 0.0
        x = torch.copysign(x.abs().clamp(min=least), x)
        for _ in range(3):
            pair = reference.cast(x, "e2m1", (1, 32), **FLAGS[next(layouts)])
            flags = FLAGS[next(layouts)]
            found = quant.per_block_cast_lossless(pair, "e4m3", (1, 32), block, **flags)
            assert_equal(
                quant.cast_back(found, "fp32", block),
                reference.cast_back(pair, "fp32", (1, 32)),
            )


@hidden_sizes
def test_per_token_cast_and_cast_back(k: int) -> None:
    names = {torch.bfloat16: "bf16", torch.float32: "fp32"}
    groups = itertools.cycle([g for g in (16, 32, 64, 128) if k % g == 0])
    for m, flags, fmt in itertools.product(
        [0, 1, 512, 8001], ("plain", "round", "e4m3"), ("e4m3", "e2m1")
    ):
        for dtype, name in names.items():
            g, wide = next(groups), normal(m, k + 24, dtype=dtype)
            before, x = wide.clone(), wide[:, 8 : k + 8]
            wanted = reference.cast_back(
                reference.cast(x, fmt, (1, g), **FLAGS[flags]), name, (1, g)
            )
            quant.per_token_cast_and_cast_back(x, fmt, g, **FLAGS[flags])
            assert torch.equal(x, wanted)
            assert torch.equal(wide[:, :8], before[:, :8])
            assert torch.equal(wide[:, k + 8 :], before[:, k + 8 :])


@hidden_sizes
def test_e5m6(k: int) -> None:
    for m, flags in itertools.product([0, 4001, 8001], ("plain", "round", "packed columns")):
        for dtype in (torch.bfloat16, torch.float32):
            for x, is_special in generate_e5m6_inputs(m, k, dtype):
                pair = quant.per_token_cast(x, "e5m6", k, **FLAGS[flags])
                assert_pairs(pair, reference.cast_to_e5m6(x, k, **FLAGS[flags]))
                back = quant.cast_back(pair, "fp32", (1, k), x_special_fmt="e5m6")
                assert_equal(back, reference.cast_back_from_e5m6(pair, "fp32", (1, k)))
                assert m == 0 or calc_diff(back, x) < (5e-6 if is_special else 1e-4)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 128, 8 * 256, (1 << 24) + 4])
def test_cast(count: int) -> None:
    dtypes = [torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2]
    for source, target in itertools.product(dtypes, dtypes):
        x = normal(count).to(source)
        assert_equal(quant.cast(x, target), x.float().to(target))


@pytest.mark.parametrize("block", [32, 128])
def test_batched_transpose_weight_sf(block: int) -> None:
    sizes = (128, 256, 384, 640, 2048, 7168)
    sf = [
        2.0 ** torch.randint(-20, 20, (*g, n // block, k // block), device="cuda").float()
        for g, n, k in itertools.product(((), (3,)), sizes, sizes)
    ]
    flags = [i % 2 == 0 for i in range(len(sf))]
    outs: list = [None] * len(sf)
    for _ in range(2):
        found = quant.batched_transpose_weight_sf(sf, block, flags, outs)
        wanted = reference.batched_transpose_weight_sf(sf, block, flags)
        for pair, other in zip(found, wanted, strict=True):
            assert_pairs(pair, other)
        outs = [pair if i % 3 else None for i, pair in enumerate(found)]
        sf = [t.flip(-1).contiguous() for t in sf]


# ---- experts ----
@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_layouts_of_experts(params: dict) -> None:
    idx, experts = generate_topk_idx(params), params["num_experts"]
    total = experts * params["num_ep_ranks"]
    for tp in (2, 4, 8):
        arguments = (idx, total, params["num_ep_ranks"], tp - 1, tp)
        assert_equal(moe.mask_indices_by_tp(*arguments), reference.mask_indices_by_tp(*arguments))
    assert_equal(moe.group_count(idx, experts), reference.group_count(idx, experts))
    for top in (1, params["num_topk"]):
        found, wanted = (f(idx, experts, top) for f in (moe.aux_fi, reference.aux_fi))
        assert calc_diff(found, wanted) < 2e-7
    for groups in (8, 16, 72):
        if total % groups == 0:
            ours = idx.div(total // groups, rounding_mode="floor")
            theirs = ours.clone()
            moe.inplace_unique_group_indices(ours, groups)
            reference.inplace_unique_group_indices(theirs, groups)
            assert_equal(ours, theirs)
    weights = torch.rand(idx.shape, device="cuda")
    assert_pairs(moe.normalize_weight(weights), reference.normalize_weight(weights))
    h = HIDDEN[5 + params["num_topk"] % 6]
    maps = moe.get_fused_mapping(idx, experts, 0, 16)
    x = normal(len(idx), h, dtype=torch.bfloat16)
    assert_equal(
        moe.expand_to_fused(x, maps[3], maps[0]), reference.expand_to_fused(x, maps[3], maps[0])
    )
    for group, columns in ((32, False), (128, True)):
        flags = {"use_packed_ue8m0": columns}
        pair = reference.cast(x, "e4m3", (1, group), round_sf=True, **flags)
        arguments = (pair, group, maps[3], maps[0], columns)
        assert_pairs(
            moe.expand_to_fused_with_sf(*arguments), reference.expand_to_fused_with_sf(*arguments)
        )
    to_pos = moe.get_fused_mapping(idx, experts, 0, 1)[3]
    for dtype in (torch.float32, torch.bfloat16):
        y, sf = normal(idx.numel(), h, dtype=dtype), normal(1)
        for by, given in itertools.product((None, weights), (y, (y, normal(idx.numel())))):
            arguments = (given, by, to_pos)
            assert_equal(moe.reduce_fused(*arguments), reference.reduce_fused(*arguments))
            arguments = (*arguments, "e4m3", sf)
            assert_equal(moe.reduce_fused(*arguments), reference.reduce_fused(*arguments))


# ---- rotations and transposes ----
@pytest.mark.parametrize("heads", [1, 5, 32, 64, 128])
@pytest.mark.parametrize("d", [64, 128])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_apply_rotary(heads: int, d: int, dtype: torch.dtype) -> None:
    table = normal(8192, d)
    for shape, gap, more in (((2001,), 128, 0), ((2001,), 128, 1), ((1, 2048), 16, 0),
                             ((3, 2048), 16, 0)):  # fmt: skip
        x = normal(*shape, heads + more, d + gap, dtype=dtype)
        rows = torch.randint(0, 8000, shape, device="cuda")
        same = rows[:1].expand(shape) if len(shape) == 2 else rows
        for where, offset, interleaved, conjugate in (
            (None, 0, False, False), (rows, 17, True, False), (rows.int(), 0, False, True),
            (same, 17, True, True),
        ):  # fmt: skip
            wide, half = x.clone(), {"interleaved": interleaved, "conjugate": conjugate}
            query = wide[..., :heads, -d:]
            wanted = rotary_embedding_ref(
                query.clone(), table[:, : d // 2], table[:, d // 2 :], where, offset, **half
            )
            apply_rotary(query, table, positions=where, **half, seqlen_offset=offset)
            assert calc_diff(query, wanted) <= 1e-8
            query.copy_(x[..., :heads, -d:])
            assert torch.equal(wide, x)  # nothing else has changed


@pytest.mark.parametrize("where", [slice(0, 64), slice(32, 96)])
def test_apply_rotary_of_a_part_of_the_columns(where: slice) -> None:
    x, table = normal(17, 3, 96, dtype=torch.bfloat16), normal(17, 64)
    wide = x.clone()
    apply_rotary(wide[..., where], table)
    wanted = rotary_embedding_ref(x[..., where], table[:, :32], table[:, 32:])
    assert calc_diff(wide[..., where], wanted) <= 1e-8
    wide[..., where] = x[..., where]
    assert torch.equal(wide, x)


@pytest.mark.parametrize("n", HIDDEN[3:4] + HIDDEN[5:])
def test_transposes(n: int) -> None:
    dtypes = [torch.uint8, torch.bfloat16, torch.float32]
    for m, dtype in itertools.product([0, 4032, 8064], dtypes):
        x = torch.randint(0, 256, (m, 2 * n), dtype=torch.uint8, device="cuda").to(dtype)
        assert_equal(transpose(x[:, :n]), x[:, :n].T.contiguous())
        if dtype == torch.uint8:
            codes = x[:, n:].contiguous().view(torch.float8_e4m3fn)
            assert_equal(transpose(codes).view(torch.uint8), x[:, n:].T.contiguous())
        batch = x.view(m, 2, n).transpose(0, 1).contiguous().repeat(4, 1, 1)
        assert_equal(batched_transpose(batch), batch.transpose(1, 2).contiguous())
