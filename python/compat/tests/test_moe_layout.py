"""Rows in the expert-major layout beside their references; and what is refused."""

import pytest
import torch

from tile_kernels import config, moe
from tile_kernels import torch as reference
from tile_kernels.testing.numeric import assert_equal

DEVICE = config.get_device()


def maps(tokens: int, k: int, experts: int, alignment: int) -> tuple[torch.Tensor, torch.Tensor]:
    """token_topk_to_pos and pos_to_expert of a random routing."""
    torch.manual_seed(tokens + k)
    idx = torch.randint(-1, experts, (tokens, k))
    if tokens > 2:
        idx[1] = -1
    to_pos = torch.full((tokens, k), -1, dtype=torch.int32)
    to_expert: list[int] = []
    for e in range(experts):
        pairs = (idx == e).nonzero()
        for n, (t, slot) in enumerate(pairs.tolist()):
            to_pos[t, slot] = len(to_expert) + n
        aligned = -(-len(pairs) // alignment) * alignment
        to_expert += [e] * len(pairs) + [-1] * (aligned - len(pairs))
    return to_pos.to(DEVICE), torch.tensor(to_expert, dtype=torch.int32, device=DEVICE)


@pytest.mark.parametrize("hidden", [8, 64, 100, 128, 576, 2048])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float8_e4m3fn", "int8", "int32"])
def test_expand_to_fused(hidden: int, dtype: str) -> None:
    for tokens, k, alignment in [(0, 2, 16), (1, 1, 16), (37, 6, 16), (20, 2, 1)]:
        to_pos, to_expert = maps(tokens, k, 5, alignment)
        x = (torch.randn(tokens, hidden, device=DEVICE) * 50).to(getattr(torch, dtype))
        found = moe.expand_to_fused(x, to_pos, to_expert)
        assert_equal(found, reference.expand_to_fused(x, to_pos, to_expert))


@pytest.mark.parametrize("group", [32, 128])
@pytest.mark.parametrize("kind", ["plain", "columns", "packed columns"])
def test_expand_to_fused_with_sf(group: int, kind: str) -> None:
    columns = kind != "plain"
    for tokens, hidden in [(0, 576), (37, 576), (37, 2048)]:
        to_pos, to_expert = maps(tokens, 6, 5, 16)
        data, sf = reference.cast(
            torch.randn(tokens, hidden, device=DEVICE), "e4m3", (1, group), round_sf=True,
            use_packed_ue8m0=kind == "packed columns",
        )  # fmt: skip
        arguments = ((data, sf), group, to_pos, to_expert, columns)
        found = moe.expand_to_fused_with_sf(*arguments)
        wanted = reference.expand_to_fused_with_sf(*arguments)
        for x, y in zip(found, wanted, strict=True):
            assert_equal(x, y)


def test_padding_is_zeroed_without_tokens() -> None:
    empty = torch.empty(0, 64, device=DEVICE)
    to_pos = torch.empty(0, 2, dtype=torch.int32, device=DEVICE)
    padding = torch.full((16,), -1, dtype=torch.int32, device=DEVICE)
    assert_equal(moe.expand_to_fused(empty, to_pos, padding), torch.zeros(16, 64, device=DEVICE))
    sf = torch.empty(0, 2, device=DEVICE)
    _, factors = moe.expand_to_fused_with_sf((empty, sf), 32, to_pos, padding)
    assert_equal(factors, torch.zeros(16, 2, device=DEVICE))


X = torch.zeros(3, 64, device=DEVICE)
SF = torch.ones(3, 2, device=DEVICE)
TO_POS, TO_EXPERT = maps(3, 2, 2, 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": (X.repeat(1, 2)[:, ::2], SF)}, "stride"),
        ({"x": (X.double(), SF)}, "f64"),
        ({"x": (X, SF.double())}, "f64"),
        ({"x": (X, SF[:, :1])}, "sf"),
        ({"x": (X, SF.T.contiguous().T)}, "sf"),
        ({"x": (X, SF.view(torch.int32)[:, :1].contiguous())}, "use_tma_aligned_col_major_sf"),
        ({"num_per_channels": 64}, "64"),
        ({"token_topk_to_pos": TO_POS.long()}, "i64"),
        ({"token_topk_to_pos": TO_POS[:2]}, "token_topk_to_pos"),
        ({"pos_to_expert": TO_EXPERT.long()}, "i64"),
        ({"pos_to_expert": TO_EXPERT[None]}, "pos_to_expert"),
    ],
)
def test_what_does_not_fit_is_an_assertion(change: dict, message: str) -> None:
    arguments = {
        "x": (X, SF), "num_per_channels": 32, "token_topk_to_pos": TO_POS,
        "pos_to_expert": TO_EXPERT, **change,
    }  # fmt: skip
    with pytest.raises(AssertionError, match=message):
        moe.expand_to_fused_with_sf(**arguments)


# ---- the maps ----
def check_maps(idx: torch.Tensor, maps: tuple, experts: int, alignment: int) -> int:
    """Beside a sort; gives the length of the layout."""
    flat = idx.flatten()
    pairs = torch.argsort(flat, stable=True)
    pairs = pairs[flat[pairs] >= 0]
    counts = torch.bincount(flat[pairs], minlength=experts)
    aligned = (counts + alignment - 1) // alignment * alignment
    end = aligned.cumsum(0)
    chosen = flat[pairs]
    inside = torch.arange(len(pairs), device=idx.device) - (counts.cumsum(0) - counts)[chosen]
    position = (end - aligned)[chosen] + inside
    length = len(maps[0])
    kept = position < length
    for found, values in zip(maps[:3], (chosen, pairs // idx.shape[1], pairs), strict=True):
        wanted = torch.full((length,), -1, dtype=torch.int32, device=idx.device)
        wanted[position[kept]] = values[kept].int()
        assert_equal(found, wanted)
    to_pos = torch.full_like(flat, -1)
    to_pos[pairs] = position
    assert_equal(maps[3], to_pos.view(idx.shape).int())
    for found, wanted in zip(maps[4:7], (end - aligned, end, aligned), strict=True):
        assert_equal(found, wanted.int())
    return int(aligned.sum())


@pytest.mark.parametrize(
    ("tokens", "k", "experts", "alignment"),
    [(0, 2, 3, 16), (1, 1, 1, 1), (300, 6, 9, 64), (300, 6, 9, 1), (50, 8, 256, 128),
     (50, 9, 257, 16), (700, 2, 1024, 4), (64, 3, 7, 7)],
)  # fmt: skip
def test_get_fused_mapping(tokens: int, k: int, experts: int, alignment: int) -> None:
    torch.manual_seed(tokens)
    idx = torch.randint(-1, experts, (tokens, k), device=DEVICE)
    sized = moe.get_fused_mapping(idx, experts, 0, alignment)
    length = check_maps(idx, sized, experts, alignment)
    assert len(sized[0]) == length and sized[7] == sized[6].tolist()
    for explicit in {max(1, length), length + 37}:
        maps = moe.get_fused_mapping(idx, experts, explicit, alignment)
        check_maps(idx, maps, experts, alignment)
        assert len(maps[0]) == explicit and maps[7] == []
    quiet = moe.get_fused_mapping(idx, experts, 0, alignment, force_no_sync=True)
    check_maps(idx, quiet, experts, alignment)
    assert len(quiet[0]) == 0 and quiet[7] == []


@pytest.mark.parametrize("value", [-1, 3])
def test_get_fused_mapping_of_one_value(value: int) -> None:
    idx = torch.full((40, 4), value, device=DEVICE)
    check_maps(idx, moe.get_fused_mapping(idx, 5, 0, 8), 5, 8)


def test_the_layout_of_an_example() -> None:
    idx = torch.tensor([[1, 0], [1, -1], [3, 1]], device=DEVICE)
    maps = moe.get_fused_mapping(idx, 4, 0, 4)
    assert [m if isinstance(m, list) else m.tolist() for m in maps] == [
        [0, -1, -1, -1, 1, 1, 1, -1, 3, -1, -1, -1],
        [0, -1, -1, -1, 0, 1, 2, -1, 2, -1, -1, -1],
        [1, -1, -1, -1, 0, 2, 5, -1, 4, -1, -1, -1],
        [[4, 0], [5, -1], [8, 6]], [0, 4, 8, 8], [4, 8, 8, 12], [4, 4, 0, 4], [4, 4, 0, 4],
    ]  # fmt: skip
    starts = moe.get_fused_mapping(idx, 4, 0, 1)
    assert [starts[4].tolist(), starts[5].tolist()] == [[0, 1, 4, 4], [1, 4, 4, 5]]


@pytest.mark.parametrize(
    "arguments",
    [
        (TO_POS, 4, 0, 4), (TO_POS.long()[0], 4, 0, 4), (TO_POS.long(), 0, 0, 4),
        (TO_POS.long(), 1025, 0, 4), (TO_POS.long(), 4, 0, 0), (TO_POS.long(), 4, -1, 4),
        (TO_POS.long().T.contiguous().T, 4, 0, 4),
    ],
)  # fmt: skip
def test_get_fused_mapping_refuses(arguments: tuple) -> None:
    with pytest.raises((AssertionError, RuntimeError), match="get_fused_mapping"):
        moe.get_fused_mapping(*arguments)


@pytest.mark.skipif(DEVICE != "cpu", reason="a fault of the device ends its use")
def test_experts_must_exist() -> None:
    with pytest.raises(RuntimeError):
        moe.get_fused_mapping(torch.tensor([[0, 4]]), 4, 0, 4)


# ---- sums ----
@pytest.mark.parametrize(
    ("dtype", "hidden"), [("float32", 256), ("bfloat16", 2048), ("float8_e4m3fn", 256)]
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("fmt", ["", "e4m3", "e4m3 with sf"])
def test_reduce_fused(dtype: str, hidden: int, weighted: bool, scaled: bool, fmt: str) -> None:
    for tokens, k in [(0, 2), (1, 1), (37, 6)]:
        to_pos, to_expert = maps(tokens, k, 5, 1)
        rows = max(tokens * k, len(to_expert))
        x = (torch.randn(rows, hidden, device=DEVICE) * 3).to(getattr(torch, dtype))
        weights = torch.rand(tokens, k, device=DEVICE) if weighted else None
        if weighted:
            weights[to_pos < 0] = torch.nan  # without influence
        given = (x, torch.randn(rows, device=DEVICE)) if scaled else x
        sf = torch.randn(1, device=DEVICE) * 100 if "sf" in fmt else None
        arguments = (given, weights, to_pos, fmt[:4], sf)
        found = moe.reduce_fused(*arguments)
        assert_equal(found, reference.reduce_fused(*arguments))
        out = torch.empty_like(found)
        assert moe.reduce_fused(*arguments, out=out).data_ptr() == out.data_ptr()
        assert_equal(out, found)


def test_sums_saturate() -> None:
    x = torch.full((1, 256), 1000.0, device=DEVICE)
    to_pos = torch.zeros(1, 1, dtype=torch.int32, device=DEVICE)
    for value in (1000.0, 464.1, -1e30, torch.inf):
        found = moe.reduce_fused(torch.full_like(x, value), None, to_pos, "e4m3")
        assert found.float().unique().tolist() == [448 if value > 0 else -448]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": torch.zeros(9, 128, device=DEVICE)}, "256"),
        ({"x": torch.zeros(9, 256, device=DEVICE).half()}, "f16"),
        ({"x": torch.zeros(9, 512, device=DEVICE)[:, ::2]}, "stride"),
        ({"topk_weights": torch.zeros(3, 3, device=DEVICE)}, "topk_weights"),
        ({"topk_weights": torch.zeros(3, 2, device=DEVICE).double()}, "f64"),
        ({"token_topk_to_pos": TO_POS.long()}, "i64"),
        ({"fp8_format": "e5m2"}, "e5m2"),
        ({"sf": torch.ones(1, device=DEVICE)}, "sf"),
        ({"fp8_format": "e4m3", "sf": torch.ones(2, device=DEVICE)}, "sf"),
        ({"out": torch.zeros(3, 256, device=DEVICE).bfloat16()}, "bf16"),
        ({"out": torch.zeros(2, 256, device=DEVICE)}, "out"),
    ],
)
def test_reduce_fused_refuses(change: dict, message: str) -> None:
    arguments = {
        "x": torch.zeros(9, 256, device=DEVICE), "topk_weights": None,
        "token_topk_to_pos": TO_POS, **change,
    }  # fmt: skip
    with pytest.raises((AssertionError, RuntimeError), match=message):
        moe.reduce_fused(**arguments)
