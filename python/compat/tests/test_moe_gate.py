"""Gates beside their references; and what they refuse."""

import pytest
import torch

from tile_kernels import config, moe
from tile_kernels import torch as reference
from tile_kernels.testing.numeric import assert_equal

DEVICE = config.get_device()


def randn(*shape: int) -> torch.Tensor:
    torch.manual_seed(sum(shape))
    return torch.randn(shape, device=DEVICE)


@pytest.mark.parametrize("tokens", [0, 1, 67])
@pytest.mark.parametrize(
    ("experts", "k"),
    [(72, 6), (32, 6), (64, 6), (96, 6), (16, 6), (36, 6), (108, 6), (128, 6), (144, 6), (256, 8),
     (1, 1), (5, 5), (31, 1), (33, 32), (257, 7), (1000, 3), (4096, 8)],
)  # fmt: skip
def test_topk_gate(tokens: int, experts: int, k: int) -> None:
    scores = randn(tokens, experts)
    assert_equal(moe.topk_gate(scores, k), reference.stable_topk(scores, k))
    ties = scores.sign() * 0.0 + (scores > 1).float()
    assert_equal(moe.topk_gate(ties, k), reference.stable_topk(ties, k))


def test_topk_gate_of_extremes() -> None:
    rows = torch.tensor([[3.4e38, -3.4e38, 1e-45, -1e-45, 0.0, -0.0, 1, -1]], device=DEVICE)
    rows = torch.cat([rows, rows.sort().values, rows.sort(descending=True).values, 0 * rows])
    assert_equal(moe.topk_gate(rows, 8), reference.stable_topk(rows, 8))


@pytest.mark.parametrize(
    ("scores", "k"),
    [
        (randn(3, 64), 40), (randn(3, 8), 9), (randn(3, 8), 0), (randn(3, 8), -1),
        (randn(8), 2), (randn(3, 8).double(), 2), (randn(3, 16)[:, ::2], 2),
        (randn(3, 16)[:, :8], 2),
    ],
)  # fmt: skip
def test_topk_gate_refuses(scores: torch.Tensor, k: int) -> None:
    with pytest.raises((AssertionError, RuntimeError), match="topk_gate"):
        moe.topk_gate(scores, k)


@pytest.mark.skipif(DEVICE != "cpu", reason="a fault of the device ends its use")
@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_topk_gate_checks_what_it_reads(bad: float) -> None:
    scores = randn(3, 8)
    scores[1, 4] = bad
    with pytest.raises(RuntimeError):
        moe.topk_gate(scores, 2)


@pytest.mark.parametrize(("experts", "groups"), [(72, 4), (72, 12), (256, 8), (256, 16), (9, 1),
                                                 (64, 32), (5, 5)])  # fmt: skip
@pytest.mark.parametrize("best", [1, 2])
def test_topk_sum_and_topk_group_idx(experts: int, groups: int, best: int) -> None:
    if best * groups > experts:
        best = 1
    for tokens in (0, 1, 67):
        scores = randn(tokens, groups, experts // groups)
        ties = (scores > 0.5).float()
        low = scores.masked_fill(scores < 0.8, -torch.inf)
        for given in (scores, ties, low):
            for kept in {1, min(2, groups), groups}:
                found = moe.topk_sum_and_topk_group_idx(given, best, kept)
                wanted = reference.topk_sum_and_topk_group_idx(given, best, kept)
                assert_equal(found, wanted)


@pytest.mark.parametrize(
    "arguments",
    [(randn(3, 4, 8), 3, 2), (randn(3, 4, 8), 0, 2), (randn(3, 4, 1), 2, 2), (randn(3, 4, 8), 1, 5),
     (randn(3, 33, 2), 1, 2), (randn(3, 8), 1, 2), (randn(3, 4, 8).double(), 1, 2),
     (randn(3, 4, 16)[:, :, ::2], 1, 2)],
)  # fmt: skip
def test_topk_sum_and_topk_group_idx_refuses(arguments: tuple) -> None:
    with pytest.raises((AssertionError, RuntimeError), match="topk_sum_and_topk_group_idx"):
        moe.topk_sum_and_topk_group_idx(*arguments)


@pytest.mark.parametrize("tokens", [0, 1, 513])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 6, 7, 8, 9, 17, 31, 32])
def test_normalize_weight(tokens: int, k: int) -> None:
    for weights in (randn(tokens, k).abs(), randn(tokens, k), randn(tokens, k) * 1e-42):
        found, wanted = moe.normalize_weight(weights), reference.normalize_weight(weights)
        assert_equal(found[0], wanted[0])
        assert_equal(found[1], wanted[1])


def test_normalize_weight_of_zeros_and_what_is_not_finite() -> None:
    weights = torch.tensor([[0.0, 0], [torch.nan, 1], [torch.inf, 1], [torch.inf, -torch.inf]])
    found, wanted = moe.normalize_weight(weights), reference.normalize_weight(weights)
    for x, y in zip(found, wanted, strict=True):
        assert torch.equal(x.isnan(), y.isnan())
        assert_equal(x.nan_to_num(7), y.nan_to_num(7))


def test_rows_of_more_than_32_are_of_v1(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = randn(9, 40).abs()
    with pytest.raises(AssertionError, match="32"):
        moe.normalize_weight(weights)
    monkeypatch.setenv("TK_API_LEVEL", "v1")
    found, wanted = moe.normalize_weight(weights), reference.normalize_weight(weights)
    assert_equal(found[0], wanted[0])
    assert_equal(found[1], wanted[1])
    assert_equal(moe.normalize_weight(weights[:, :8].contiguous())[0],
                 reference.normalize_weight(weights[:, :8])[0])  # fmt: skip


@pytest.mark.parametrize(
    "weights", [randn(8), randn(3, 8).double(), randn(3, 16)[:, ::2], randn(3, 16)[:, :8]]
)
def test_normalize_weight_refuses(weights: torch.Tensor) -> None:
    with pytest.raises((AssertionError, RuntimeError), match="normalize_weight"):
        moe.normalize_weight(weights)


def test_scoring_functions_have_numbers_and_names() -> None:
    from tile_kernels.moe.scoring import ScoringFunc

    assert [(str(f), int(f)) for f in ScoringFunc] == [
        ("sigmoid", 0), ("sqrtsoftplus", 1), ("softmax", 2), ("identity", 3)
    ]  # fmt: skip
    assert ScoringFunc.from_str("SoftMax") is ScoringFunc.SOFTMAX
    with pytest.raises(ValueError, match="'relu' is none of sigmoid"):
        ScoringFunc.from_str("relu")
