"""The gate of v1 beside its reference; and what it refuses."""

import math

import pytest
import torch

from tile_kernels import config, moe
from tile_kernels import torch as reference
from tile_kernels.testing.numeric import assert_equal

DEVICE = config.get_device()
NAMES = ["num_topk", "num_topk_groups", "num_groups", "use_shared_as_routed", "num_shared_experts",
         "routed_scaling_factor", "ep_rank", "num_ep_ranks", "tp_rank", "num_tp_ranks",
         "scoring_func"]  # fmt: skip
PLAIN = dict(zip(NAMES, [2, 0, 0, False, 0, 1.0, 0, 1, 0, 1, "sigmoid"], strict=True))
CASES = [(0, 0, 72, 1, 6), (0, 0, 32, 2, 6), (0, 0, 16, 2, 6), (0, 0, 108, 2, 6),
         (8, 8, 256, 2, 8), (8, 4, 256, 2, 8), (32, 2, 1024, 1, 32)]  # fmt: skip
SCORES = ["sigmoid", "sqrtsoftplus", "softmax"]


def scores_of(logits: torch.Tensor, func: str) -> torch.Tensor:
    if func == "softmax":
        return torch.softmax(logits, -1)
    return torch.sigmoid(logits) if func == "sigmoid" else reference.topk.sqrt_softplus_ref(logits)


def clear_rows(rows: int, experts: int, groups: int, kept: int, k: int, func: str) -> tuple:
    """Logits and bias whose choice no rounding changes."""
    bias = torch.randn(experts, device=DEVICE)
    logits = torch.randn(rows, experts, device=DEVICE)
    for _ in range(100):
        keys = (logits if func == "softmax" else scores_of(logits, func)) + bias
        close = torch.zeros(rows, dtype=torch.bool, device=DEVICE)
        if 0 < kept < groups:
            sums = (
                keys.view(rows, groups, experts // groups)
                .topk(2)
                .values.sum(-1)
                .sort(descending=True)
                .values
            )
            close |= sums[:, kept - 1] - sums[:, kept] <= 1e-6
        best = keys.sort(dim=1, descending=True).values
        close |= (best[:, :-1] - best[:, 1:] <= 1e-7).any(1)
        if not close.any():
            break
        logits[close] = torch.randn(int(close.sum()), experts, device=DEVICE)
    return logits, bias


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("func", SCORES)
@pytest.mark.parametrize("features", ["plain", "mask and tp", "fixed", "shared and duplicates"])
def test_gate(case: tuple, func: str, features: str) -> None:
    groups, kept, experts, shared, k = case
    torch.manual_seed(experts)
    use_shared = "shared" in features and k % shared == 0 and experts % (k // shared) == 0
    use_shared = use_shared and k + shared <= 32
    for rows in (0, 1, 43):
        logits, bias = clear_rows(rows, experts, groups, kept, k, func)
        options = {
            **PLAIN, "num_topk": k, "num_topk_groups": kept, "num_groups": groups,
            "routed_scaling_factor": 1.5, "scoring_func": func.upper(),
        }  # fmt: skip
        unmapped = torch.randint(0, experts, (rows, k), device=DEVICE)
        if features != "plain":
            options["mask"] = torch.arange(rows, device=DEVICE) < rows - rows // 4
            options |= {"num_ep_ranks": 4, "num_tp_ranks": 2, "tp_rank": 1, "ep_rank": 3}
        if features == "fixed":
            options["fix_routing_mask"] = torch.rand(rows, device=DEVICE) < 0.5
        if use_shared:
            options |= {"use_shared_as_routed": True, "num_shared_experts": shared}
        if "duplicates" in features:
            total = experts + (shared if use_shared else 0)
            count = torch.randint(1, 4, (total,), dtype=torch.int32)
            place = torch.arange(3)
            table = (count.cumsum(0) - count)[:, None] + place
            options["to_physical_map"] = table.where(place < count[:, None], -1).int().to(DEVICE)
            options["logical_count"] = count.to(DEVICE)
        ours, theirs = unmapped.clone(), unmapped.clone()
        found = moe.top2_sum_gate(logits, bias, **options, unmapped_topk_idx=ours)
        wanted = reference.top2_sum_gate(logits, bias, **options, unmapped_topk_idx=theirs)
        assert_equal(found[0], wanted[0])
        assert_equal(ours, theirs)
        assert found[1].shape == wanted[1].shape and found[1].dtype == torch.float32
        assert torch.allclose(found[1], wanted[1], rtol=1e-5, atol=1e-8)


LOGITS = torch.tensor([[0.5, -1, 2, 0, 1, 1, -2, 3], [0.0] * 8], device=DEVICE)
BIAS = torch.zeros(8, device=DEVICE)


def test_an_example_of_groups() -> None:
    options = {**PLAIN, "num_topk": 3, "num_topk_groups": 2, "num_groups": 4}
    options |= {"routed_scaling_factor": 1.5, "num_ep_ranks": 2}
    ids, weights = moe.top2_sum_gate(LOGITS, BIAS, **options)
    assert ids.tolist() == [[2, 4, 5], [0, 1, 2]]
    wanted = torch.tensor([[0.5639112, 0.4680444, 0.4680444], [0.5, 0.5, 0.5]], device=DEVICE)
    assert torch.allclose(weights, wanted, rtol=1e-5)
    for tp_rank, local in enumerate([[[-1, 2, 3], [0, 1, -1]], [[0, -1, -1], [-1, -1, 0]]]):
        ranks = {"num_ep_ranks": 4, "num_tp_ranks": 2, "tp_rank": tp_rank}
        again = moe.top2_sum_gate(LOGITS, BIAS, **{**options, **ranks})
        assert again[0].tolist() == local
        assert_equal(again[1], weights)


def test_all_by_position() -> None:
    ids, _ = moe.top2_sum_gate(LOGITS, BIAS, *PLAIN.values(), None, None, None, None, None)
    assert ids.tolist() == [[7, 2], [0, 1]]


def test_bias_excludes_experts() -> None:
    bias = torch.full((8,), -math.inf, device=DEVICE)
    bias[[3, 6]] = 0
    ids, _ = moe.top2_sum_gate(LOGITS, bias, **PLAIN)
    assert ids.tolist() == [[3, 6], [3, 6]]


def test_duplicates_are_chosen_in_64_bits() -> None:
    rows = 100000
    logits = torch.zeros(rows, 4, device=DEVICE)
    table = torch.arange(28, dtype=torch.int32, device=DEVICE).view(4, 7)
    count = torch.full((4,), 7, dtype=torch.int32, device=DEVICE)
    options = {**PLAIN, "num_topk": 1, "to_physical_map": table, "logical_count": count}
    ids, _ = moe.top2_sum_gate(logits, BIAS[:4].clone(), **{**options, "ep_rank": 5})
    assert torch.equal(ids[:, 0], (5 + torch.arange(rows, device=DEVICE) * 23333) % 7)
    with pytest.raises(AssertionError, match="ep_rank"):
        moe.top2_sum_gate(logits[:2], BIAS[:4].clone(), **{**options, "ep_rank": -1})


def test_labels_of_scores() -> None:
    for label in ("Sigmoid", "SQRTSOFTPLUS", "softmax"):
        moe.top2_sum_gate(LOGITS, BIAS, **{**PLAIN, "scoring_func": label})
    with pytest.raises(AssertionError, match="identity"):
        moe.top2_sum_gate(LOGITS, BIAS, **{**PLAIN, "scoring_func": "Identity"})
    with pytest.raises(ValueError, match="'relu' is none of"):
        moe.top2_sum_gate(LOGITS, BIAS, **{**PLAIN, "scoring_func": "relu"})


@pytest.mark.skipif(DEVICE != "cpu", reason="a fault of the device ends its use")
def test_what_is_read_is_checked() -> None:
    bad = LOGITS.clone()
    bad[1, 2] = torch.nan
    with pytest.raises(RuntimeError):
        moe.top2_sum_gate(bad, BIAS, **PLAIN)
    mask = torch.tensor([True, False])
    assert moe.top2_sum_gate(bad, BIAS, **PLAIN, mask=mask)[0][1].tolist() == [-1, -1]
    fixed = {"fix_routing_mask": torch.tensor([True, True])}
    with pytest.raises(RuntimeError):
        unmapped = torch.tensor([[0, 1], [2, 8]])
        moe.top2_sum_gate(LOGITS, BIAS, **PLAIN, **fixed, unmapped_topk_idx=unmapped)
    with pytest.raises(RuntimeError):
        moe.top2_sum_gate(LOGITS, torch.full((8,), -math.inf), **PLAIN)


TABLE = {
    "to_physical_map": torch.zeros(8, 2, dtype=torch.int32, device=DEVICE),
    "logical_count": torch.ones(8, dtype=torch.int32, device=DEVICE),
}


@pytest.mark.parametrize(
    "change",
    [
        {"logits": LOGITS[0]}, {"logits": LOGITS.double()}, {"logits": LOGITS[:, :6].contiguous()},
        {"bias": BIAS[:4]}, {"bias": BIAS.double()}, {"bias": None}, {"num_topk": 9},
        {"num_topk": 0}, {"num_groups": 4}, {"num_topk_groups": 1},
        {"num_groups": 2, "num_topk_groups": 3}, {"num_groups": 3, "num_topk_groups": 1},
        {"num_groups": 8, "num_topk_groups": 2}, {"num_groups": 4, "num_topk_groups": 1,
                                                  "num_topk": 3},
        {"use_shared_as_routed": True, "num_shared_experts": 3, **TABLE},
        {"use_shared_as_routed": True, "num_shared_experts": 1},
        {"use_shared_as_routed": True, "num_shared_experts": 2, "num_topk": 3, **TABLE},
        {"num_ep_ranks": 0}, {"num_ep_ranks": 16}, {"num_tp_ranks": 0}, {"tp_rank": 1},
        {"tp_rank": -1}, {"mask": BIAS[:2]}, {"mask": torch.ones(3, device=DEVICE).bool()},
        {"fix_routing_mask": torch.ones(2, device=DEVICE).bool()},
        {"to_physical_map": TABLE["to_physical_map"]}, {"logical_count": TABLE["logical_count"]},
        {**TABLE, "logical_count": TABLE["logical_count"][:7]}, {"ep_rank": 2**31},
        {"unmapped_topk_idx": torch.zeros(2, 2, device=DEVICE).int()},
        {"unmapped_topk_idx": torch.zeros(2, 3, device=DEVICE).long()},
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_assertion(change: dict) -> None:
    with pytest.raises((AssertionError, RuntimeError), match="top2_sum_gate"):
        moe.top2_sum_gate(**{"logits": LOGITS, "bias": BIAS, **PLAIN, **change})
