"""Layouts of experts on a GPU, bit for bit beside those on the CPU."""

import numpy as np
import pytest
from moe_layouts import fused_mapping, some_experts

from tilewright import moe

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("torch finds no GPU", allow_module_level=True)

# Tokens, experts of each, experts here, ranks.
LAYOUTS = [(0, 1, 1, 1), (1, 8, 4, 64), (501, 1, 32, 8), (501, 6, 9, 8), (4001, 8, 32, 8)]
WIDTHS = [8, 64, 100, 576, 2048, 2560, 3072, 4096, 6144, 7168]


def random_bits(*shape: int, dtype: "torch.dtype") -> "torch.Tensor":
    size = torch.empty(0, dtype=dtype).element_size()
    random = torch.Generator().manual_seed(1)
    words = torch.randint(0, 256, (*shape[:-1], shape[-1] * size), generator=random)
    return words.to(torch.uint8).view(dtype)


def maps_of(layout: tuple[int, ...], more: int = 0) -> tuple["torch.Tensor", "torch.Tensor"]:
    chosen = some_experts(*layout)
    maps = fused_mapping(chosen, layout[2], 16)
    pos_to_expert = np.concatenate([maps.pos_to_expert, np.full(more, -1, "int32")])
    return torch.from_numpy(maps.token_topk_to_pos), torch.from_numpy(pos_to_expert)


def same_bits(found: "torch.Tensor", wanted: "torch.Tensor") -> bool:
    if found.dtype != wanted.dtype or found.shape != wanted.shape:
        return False
    if found.numel() == 0:  # of which strides may be anything
        return True
    return found.stride() == wanted.stride() and torch.equal(
        found.cpu().flatten().view(torch.uint8), wanted.flatten().view(torch.uint8)
    )


@pytest.mark.parametrize("layout", LAYOUTS)
def test_numbers_and_counts_of_experts(layout: tuple[int, ...]) -> None:
    chosen = torch.from_numpy(some_experts(*layout))
    tokens, topk, experts, ranks = layout
    for tp in (1, 2, 4, 8):
        for dtype in (torch.int64, torch.int32):
            n = experts * ranks
            indices = torch.randint(-1, n, (tokens, topk), dtype=dtype)
            for given in (chosen.to(dtype), indices):
                found = moe.mask_indices_by_tp(given.cuda(), n, ranks, tp - 1, tp)
                assert same_bits(found, moe.mask_indices_by_tp(given, n, ranks, tp - 1, tp))
    for groups in (1, 8, 63, 64, 65, 72, 128):
        on_cpu = torch.randint(-1, groups, (tokens, topk))
        on_gpu = on_cpu.cuda()
        for given in (on_cpu, on_gpu):
            moe.inplace_unique_group_indices(given, groups)
        assert same_bits(on_gpu, on_cpu)
    for groups in (experts, 1000, 4096, 10000):
        for top in (1, topk):
            found = moe.aux_fi(chosen.cuda(), groups, top)
            assert same_bits(found, moe.aux_fi(chosen, groups, top))
        assert same_bits(moe.group_count(chosen.cuda(), groups), moe.group_count(chosen, groups))


@pytest.mark.parametrize(
    "layout", [*LAYOUTS, (300, 2, 257, 1), (20000, 1, 1024, 1), (40000, 8, 4, 2)]
)
@pytest.mark.parametrize("alignment", [1, 64, 128])
def test_get_fused_mapping(layout: tuple[int, ...], alignment: int) -> None:
    chosen, experts = torch.from_numpy(some_experts(*layout)), layout[2]
    on_gpu = chosen.cuda()
    wanted = moe.get_fused_mapping(chosen, experts, 0, alignment)
    rows = wanted[0].shape[0]
    for size, no_sync in ((0, False), (rows, False), (rows + 300, True), (0, True)):
        found = moe.get_fused_mapping(on_gpu, experts, size, alignment, no_sync)
        wanted = moe.get_fused_mapping(chosen, experts, size, alignment, no_sync)
        assert all(map(same_bits, found[:7], wanted[:7]))
        assert found[7] == wanted[7]


def test_mapping_in_a_cuda_graph() -> None:
    chosen = torch.from_numpy(some_experts(501, 6, 9))
    on_gpu = chosen.cuda()
    stream = torch.cuda.Stream()
    graphs = []
    for size, no_sync in ((4000, False), (0, True)):
        with torch.cuda.stream(stream):
            moe.get_fused_mapping(on_gpu, 9, size, 16, no_sync)
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            found = moe.get_fused_mapping(on_gpu, 9, size, 16, no_sync)
        graphs.append((graph, found, size, no_sync))
    other = torch.from_numpy(some_experts(501, 6, 9)[::-1].copy())
    on_gpu.copy_(other)
    for graph, found, size, no_sync in graphs:
        graph.replay()
        torch.cuda.synchronize()
        assert all(map(same_bits, found[:7], moe.get_fused_mapping(other, 9, size, 16, no_sync)))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("h", WIDTHS)
def test_expand_to_fused(layout: tuple[int, ...], h: int) -> None:
    for dtype, more in ((torch.bfloat16, 0), (torch.float32, 7), (torch.float8_e4m3fn, 40)):
        x, maps = random_bits(layout[0], h, dtype=dtype), maps_of(layout, more)
        found = moe.expand_to_fused(x.cuda(), *(m.cuda() for m in maps))
        assert same_bits(found, moe.expand_to_fused(x, *maps))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("h", WIDTHS)
@pytest.mark.parametrize("group", [32, 128])
def test_expand_to_fused_with_sf(layout: tuple[int, ...], h: int, group: int) -> None:
    x, maps = random_bits(layout[0], h, dtype=torch.float8_e4m3fn), maps_of(layout)
    factors = -(-h // group)
    for n, dtype, columns in (
        (factors, torch.float32, False),
        (factors, torch.float32, True),
        (-(-factors // 4), torch.int32, True),
    ):
        sf = random_bits(layout[0], n, dtype=dtype)
        found = moe.expand_to_fused_with_sf(
            (x.cuda(), sf.cuda()), group, *(m.cuda() for m in maps), columns
        )
        wanted = moe.expand_to_fused_with_sf((x, sf), group, *maps, columns)
        assert all(map(same_bits, found, wanted))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("h", [256, 2048, 2560, 3072, 4096, 6144, 7168])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn])
def test_reduce_fused(layout: tuple[int, ...], h: int, dtype: "torch.dtype") -> None:
    pos = torch.from_numpy(fused_mapping(some_experts(*layout), layout[2], 1).token_topk_to_pos)
    random = torch.Generator().manual_seed(1)
    rows = max(pos.numel(), 1)
    x = torch.randn((rows, h), generator=random).to(dtype)
    weights = torch.rand(pos.shape, generator=random)
    weights[pos < 0] = torch.nan
    x_sf, sf = torch.randn(rows, generator=random), torch.full((1,), 300.0)

    def on(device: str, *tensors: "torch.Tensor | None") -> list["torch.Tensor | None"]:
        return [t if t is None else t.to(device) for t in tensors]

    for by, fmt in ((weights, ""), (None, ""), (weights, "e4m3")):
        found, wanted = (
            moe.reduce_fused(*on(device, x, by, pos), fmt, *on(device, sf if fmt else None))
            for device in ("cuda", "cpu")
        )
        assert same_bits(found, wanted)
        found, wanted = (
            moe.reduce_fused(tuple(on(device, x, x_sf)), *on(device, by, pos), fmt)
            for device in ("cuda", "cpu")
        )
        assert same_bits(found, wanted)
