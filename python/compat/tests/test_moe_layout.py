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
