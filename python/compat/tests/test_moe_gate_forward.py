"""The gate of v2 beside its reference; and what it refuses."""

import math

import pytest
import torch

from tile_kernels import config, moe
from tile_kernels import torch as reference
from tile_kernels.testing.moe import construct_logits
from tile_kernels.testing.numeric import assert_equal

DEVICE = config.get_device()
EXPERTS = [(72, 1, 6), (32, 2, 6), (64, 2, 6), (96, 2, 6), (16, 2, 6), (36, 2, 6), (108, 2, 6),
           (128, 2, 6), (144, 2, 6), (256, 2, 8)]  # fmt: skip


def duplicates(experts: int, most: int) -> dict[str, torch.Tensor]:
    """1 to `most` places of each expert, dealt in order."""
    count = torch.randint(1, most + 1, (experts,), dtype=torch.int32)
    first = count.cumsum(0) - count
    place = torch.arange(most)
    table = torch.where(place < count[:, None], first[:, None] + place, -1).int()
    return {"to_physical_map": table.to(DEVICE), "logical_count": count.to(DEVICE)}


def sorted_rows(ids: torch.Tensor, weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return ids.sort(dim=1).values, weights.sort(dim=1).values


@pytest.mark.parametrize(("experts", "shared", "k"), EXPERTS)
@pytest.mark.parametrize("tokens", [0, 1, 61])
@pytest.mark.parametrize("features", ["plain", "bias", "image", "fixed", "shared", "all"])
def test_gate(experts: int, shared: int, k: int, tokens: int, features: str) -> None:
    torch.manual_seed(experts + tokens)
    has = lambda name: features in (name, "all")  # noqa: E731
    params = {"num_tokens": tokens, "num_padded_tokens": 10, "num_routed_experts": experts}
    rows = tokens + 10
    bias = torch.randn(experts, device=DEVICE) if has("bias") else None
    image = {"image_bias": None, "image_token_mask": None}
    if has("image"):
        image = {
            "image_bias": torch.randn(experts, device=DEVICE),
            "image_token_mask": torch.rand(rows, device=DEVICE) < 0.5,
        }
    logits = construct_logits({**params, "num_topk": k}, {"bias": bias, **image})
    options = {"bias": bias, **image, "mask": torch.arange(rows, device=DEVICE) < tokens}
    if has("shared"):
        options |= duplicates(experts + shared, 3)
    unmapped = torch.randint(0, experts, (rows, k), device=DEVICE)
    if has("fixed"):
        options["fix_routing_mask"] = torch.rand(rows, device=DEVICE) < 0.5
    arguments = (logits, k, has("shared"), shared, 1.5, 3, "sqrtsoftplus")
    ours, theirs = unmapped.clone(), unmapped.clone()
    scores = torch.full_like(logits, torch.nan)
    found = moe.moe_topk_gate_forward(*arguments, **options, unmapped_topk_idx=ours, scores=scores)
    wanted = reference.moe_topk_gate_forward(*arguments, **options, unmapped_topk_idx=theirs)
    for x, y in zip(sorted_rows(*found), sorted_rows(*wanted), strict=True):
        assert x.dtype == y.dtype and x.shape == y.shape
        assert torch.allclose(x.double(), y.double(), rtol=1e-5, atol=1e-8)
    assert_equal(ours.sort(dim=1).values, theirs.sort(dim=1).values)
    u = reference.topk.sqrt_softplus_ref(logits) * options["mask"][:, None]
    assert torch.allclose(scores, u, rtol=1e-5, atol=1e-8)
    out = tuple(map(torch.zeros_like, found))
    again_unmapped, again_scores = unmapped.clone(), torch.zeros_like(scores)
    again = moe.moe_topk_gate(
        *arguments, **options, unmapped_topk_idx=again_unmapped, scores=again_scores, out=out
    )
    assert again[0] is out[0] and again[1] is out[1]
    for x, y in zip((*out, again_unmapped, again_scores), (*found, ours, scores), strict=True):
        assert_equal(x, y)
    if not has("shared") and not has("fixed"):  # weights are those of normalize_weight
        _, normal = moe.normalize_weight(scores.gather(1, ours.clamp(min=0)))
        normal = (normal * 1.5)[:tokens]
        assert_equal(found[1][:tokens], normal)


def test_ties_go_to_the_first() -> None:
    unmapped = torch.zeros((33, 6), dtype=torch.int64, device=DEVICE)
    moe.moe_topk_gate(
        torch.zeros(33, 72, device=DEVICE), 6, False, 0, 1.0, 0, unmapped_topk_idx=unmapped
    )
    assert torch.equal(unmapped, torch.arange(6, device=DEVICE).expand(33, 6))


@pytest.mark.parametrize(
    ("experts", "k", "ep_rank", "row", "ids", "weights"),
    [
        (8, 3, 0, 0, [5, 6, 3], [0.39904648, 0.51667917, 0.024930386]),
        (8, 3, 0, 1, [2, 1, 7], [0.74940687, 0.93029273, 0.049435101]),
        (6, 4, 5, 7, [4, 3, 0, 1], [0.53194129, 0.11504564, 0.32524422, 0.51736856]),
    ],
)
def test_random_rows(
    experts: int, k: int, ep_rank: int, row: int, ids: list, weights: list
) -> None:
    logits = torch.full((9, 8), torch.nan, device=DEVICE)  # not looked at
    options = {}
    if experts != 8:  # N is the number of places
        count = torch.tensor([1] * 5 + [0] * 2 + [1], dtype=torch.int32, device=DEVICE)
        options = {"logical_count": count}
        options["to_physical_map"] = torch.zeros((8, 1), dtype=torch.int32, device=DEVICE)
    force = torch.ones(9, dtype=torch.bool, device=DEVICE)
    found = moe.moe_topk_gate(logits, k, False, 0, 1.5, ep_rank, force_random=force, **options)
    assert found[0][row].tolist() == ids
    assert torch.allclose(found[1][row].cpu(), torch.tensor(weights), rtol=1e-6)


def test_random_rows_are_distinct_and_uniform() -> None:
    tokens, experts, k = 3000, 64, 6
    force = torch.ones(tokens, dtype=torch.bool, device=DEVICE)
    mask = torch.arange(tokens, device=DEVICE) < tokens - 10
    unmapped = torch.zeros((tokens, k), dtype=torch.int64, device=DEVICE)
    scores = torch.ones(tokens, experts, device=DEVICE)
    ids, weights = moe.moe_topk_gate(
        torch.zeros(tokens, experts, device=DEVICE), k, True, 2, 1.5, 0, mask=mask,
        force_random=force, fix_routing_mask=force, unmapped_topk_idx=unmapped, scores=scores,
    )  # fmt: skip
    routed = ids[: tokens - 10]
    assert ids.shape == (tokens, k + 2) and (unmapped == -1).all() and not scores.any()
    assert (ids[tokens - 10 :] == -1).all() and not weights[tokens - 10 :].any()
    assert (weights[: tokens - 10] > 0).all() and (weights <= 1).all()
    in_order = routed.sort(dim=1).values
    assert (in_order[:, 1:] > in_order[:, :-1]).all()
    counts = torch.bincount(routed.flatten(), minlength=66).double()
    mean = routed.numel() / 66
    assert len(counts) == 66 and float(((counts - mean) ** 2).sum() / mean) < 4 * 65


def test_duplicates_are_chosen_in_64_bits() -> None:
    rows = 100000
    logits = torch.zeros((rows, 4), device=DEVICE)
    options = {"to_physical_map": torch.arange(28, dtype=torch.int32, device=DEVICE).view(4, 7)}
    options["logical_count"] = torch.full((4,), 7, dtype=torch.int32, device=DEVICE)
    ids, _ = moe.moe_topk_gate(logits, 1, False, 0, 1.0, 5, **options)
    wanted = (5 + torch.arange(rows, device=DEVICE) * 23333) % 7
    assert torch.equal(ids[:, 0], wanted)
    with pytest.raises(AssertionError, match="ep_rank"):
        moe.moe_topk_gate(logits[:2], 1, False, 0, 1.0, -1, **options)


@pytest.mark.parametrize("experts", [4, 32, 1024, 4096])
def test_sizes_at_their_limits(experts: int) -> None:
    torch.manual_seed(experts)
    k = min(32, experts)
    logits = torch.randn(5, experts, device=DEVICE)
    ids, _ = moe.moe_topk_gate(logits, k, False, 0, 1.0, 0)
    scores = torch.empty_like(logits)
    moe.moe_topk_gate(logits, k, False, 0, 1.0, 0, scores=scores)
    assert_equal(ids, reference.stable_topk(scores, k))
    bias = torch.full((experts,), -math.inf, device=DEVICE)
    bias[:k] = 0
    ids, _ = moe.moe_topk_gate(logits, k, False, 0, 1.0, 0, bias=bias)
    assert (ids < k).all()


def test_ids_before_mapping_may_have_gaps() -> None:
    logits = torch.randn(5, 16, device=DEVICE)
    wide = torch.full((5, 9), 77, device=DEVICE)
    ids, _ = moe.moe_topk_gate(logits, 3, False, 0, 1.0, 0, unmapped_topk_idx=wide[:, 2:5])
    assert torch.equal(wide[:, 2:5], ids) and (wide[:, [0, 1, 5, 8]] == 77).all()


@pytest.mark.skipif(DEVICE != "cpu", reason="a fault of the device ends its use")
@pytest.mark.parametrize("fault", ["nan", "fixed", "bias"])
def test_what_is_read_is_checked(fault: str) -> None:
    logits = torch.zeros(3, 8)
    options = {}
    if fault == "nan":
        logits[1, 2] = torch.nan
    elif fault == "fixed":
        options["fix_routing_mask"] = torch.ones(3, dtype=torch.bool)
        options["unmapped_topk_idx"] = torch.tensor([[0, 1], [2, 8], [3, 4]])
    else:
        options["bias"] = torch.tensor([0.0] + [-torch.inf] * 7)
    with pytest.raises(RuntimeError):
        moe.moe_topk_gate(logits, 2, False, 0, 1.0, 0, **options)
    mask = torch.tensor([True, False, True])
    if fault == "nan":
        moe.moe_topk_gate(logits, 2, False, 0, 1.0, 0, mask=mask)


LOGITS = torch.zeros(3, 8, device=DEVICE)
TABLE = {
    "to_physical_map": torch.zeros(8, 1, dtype=torch.int32, device=DEVICE),
    "logical_count": torch.ones(8, dtype=torch.int32, device=DEVICE),
}


@pytest.mark.parametrize(
    "change",
    [
        {"logits": LOGITS[0]}, {"logits": LOGITS.double()}, {"logits": LOGITS[:, :6].contiguous()},
        {"logits": torch.zeros(3, 16, device=DEVICE)[:, :8]}, {"num_topk": 9}, {"num_topk": 0},
        {"logits": torch.zeros(3, 64, device=DEVICE), "num_topk": 33},
        {"logits": torch.zeros(3, 64, device=DEVICE), "num_topk": 32,
         "use_shared_as_routed": True, "num_shared_experts": 1},
        {"use_shared_as_routed": True, "num_shared_experts": 3},
        {"use_shared_as_routed": True, "num_shared_experts": 0},
        {"scoring_func": "softmax"}, {"scoring_func": "SqrtSoftplus"},
        {"mask": torch.ones(3, device=DEVICE)}, {"mask": torch.ones(2, device=DEVICE).bool()},
        {"bias": torch.zeros(7, device=DEVICE)}, {"bias": torch.zeros(8, device=DEVICE).double()},
        {"image_bias": torch.zeros(8, device=DEVICE)},
        {"image_token_mask": torch.ones(3, device=DEVICE).bool()},
        {"fix_routing_mask": torch.ones(3, device=DEVICE).bool()},
        {"to_physical_map": TABLE["to_physical_map"]}, {"logical_count": TABLE["logical_count"]},
        {**TABLE, "to_physical_map": torch.zeros(9, 1, dtype=torch.int32, device=DEVICE)},
        {**TABLE, "ep_rank": -1}, {"ep_rank": 2**40},
        {"unmapped_topk_idx": torch.zeros(3, 2, device=DEVICE).int()},
        {"unmapped_topk_idx": torch.zeros(3, 4, device=DEVICE).long()[:, ::2]},
        {"unmapped_topk_idx": torch.zeros(3, 3, device=DEVICE).long()},
        {"force_random": torch.ones(2, device=DEVICE).bool()},
        {"scores": torch.zeros(3, 9, device=DEVICE)},
        {"out": (torch.zeros(3, 2, device=DEVICE).long(), torch.zeros(3, 3, device=DEVICE))},
        {"out": (torch.zeros(3, 2, device=DEVICE), torch.zeros(3, 2, device=DEVICE))},
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_assertion(change: dict) -> None:
    arguments = {
        "logits": LOGITS, "num_topk": 2, "use_shared_as_routed": False, "num_shared_experts": 0,
        "routed_scaling_factor": 1.0, "ep_rank": 0, **change,
    }  # fmt: skip
    with pytest.raises((AssertionError, RuntimeError), match="moe_topk_gate"):
        moe.moe_topk_gate_forward(**arguments)
