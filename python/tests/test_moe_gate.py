"""Gates of a mixture of experts, on numpy arrays, beside numpy."""

import re

import numpy as np
import pytest

import tilewright as tw
from tilewright import moe


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype("float32")


def best(keys: np.ndarray, k: int) -> np.ndarray:
    """The k highest keys of each row in order, of equal ones the lower index first."""
    return np.argsort(-keys, axis=1, kind="stable")[:, :k]


def denominator(weights: np.ndarray) -> np.ndarray:
    y = np.zeros((len(weights), 32), "float32")
    y[:, : weights.shape[1]] = weights
    for s in (16, 8, 4, 2, 1):
        y = y[:, :s] + y[:, s : 2 * s]
    return y[:, 0] + np.float32(1e-20)


# ---- topk_gate ----
@pytest.mark.parametrize("tokens", [0, 1, 67])
@pytest.mark.parametrize(("experts", "k"), [(72, 6), (5, 5), (256, 8), (1000, 32)])
def test_topk_gate_is_a_stable_sort(tokens: int, experts: int, k: int) -> None:
    scores = np.round(random(tokens, experts), 1)
    idx = moe.topk_gate(scores, k)
    assert idx.dtype == np.int64 and idx.flags.c_contiguous
    np.testing.assert_array_equal(idx, best(scores, k))
    out = np.empty((tokens, k), "int64")
    assert moe.topk_gate(scores, num_topk=k, out=out) is out
    np.testing.assert_array_equal(out, idx)


def test_topk_gate_rejects_what_does_not_fit() -> None:
    scores = random(3, 64)
    for k in (-1, 0):
        with pytest.raises(ValueError, match=f"num_topk is {k}, it must be at least 1"):
            moe.topk_gate(scores, k)
    for k in (33, 40):
        with pytest.raises(ValueError, match="it must be from 1 to 32 for 64 experts"):
            moe.topk_gate(scores, k)
    with pytest.raises(ValueError, match=re.escape("out is i64 [3, 6], it must be [3, 5]")):
        moe.topk_gate(scores, 5, out=np.empty((3, 6), "int64"))
    with pytest.raises(ValueError, match="it must have 2 dimensions"):
        moe.topk_gate(scores[0], 3)
    with pytest.raises(TypeError, match="scores is f64"):
        moe.topk_gate(scores.astype("float64"), 3)
    with pytest.raises(ValueError, match="compact"):
        moe.topk_gate(scores[:, ::2], 3)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_topk_gate_stops_at_scores_that_are_not_finite(wrong: float) -> None:
    scores = random(3, 64)
    scores[1, 40] = wrong
    with pytest.raises(RuntimeError, match=re.escape("a score of this token isn't finite")):
        moe.topk_gate(scores, 3)


# ---- topk_sum_and_topk_group_idx ----
@pytest.mark.parametrize("tokens", [0, 1, 67])
@pytest.mark.parametrize("summands", [1, 2])
@pytest.mark.parametrize(("groups", "size", "k"), [(8, 9, 4), (12, 6, 2), (32, 8, 32), (1, 5, 1)])
def test_topk_sum_and_topk_group_idx(
    tokens: int, summands: int, groups: int, size: int, k: int
) -> None:
    scores = np.round(random(tokens, groups, size), 1)
    highest = np.sort(scores, axis=2)
    sums = highest[..., -1] if summands == 1 else highest[..., -1] + highest[..., -2]
    idx = moe.topk_sum_and_topk_group_idx(scores, summands, k)
    assert idx.dtype == np.int64 and idx.flags.c_contiguous
    np.testing.assert_array_equal(idx, best(sums, k))


def test_topk_sum_and_topk_group_idx_rejects_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="num_topk_sum is 0, it must be 1 or 2"):
        moe.topk_sum_and_topk_group_idx(random(3, 4, 5), 0, 2)
    with pytest.raises(ValueError, match="num_topk_groups is 5, it must be from 1 to 4"):
        moe.topk_sum_and_topk_group_idx(random(3, 4, 5), 1, 5)


# ---- normalize_weight ----
@pytest.mark.parametrize("tokens", [0, 1, 67])
@pytest.mark.parametrize("k", [1, 6, 8, 32])
def test_normalize_weight_is_bitwise_numpys(tokens: int, k: int) -> None:
    weights = np.abs(random(tokens, k))
    sums, normalized = moe.normalize_weight(weights)
    assert sums.shape == (tokens,)
    np.testing.assert_array_equal(sums, denominator(weights))
    np.testing.assert_array_equal(normalized, weights / sums[:, None])


def test_normalize_weight_of_wide_rows() -> None:
    weights = np.abs(random(5, 40))
    with pytest.raises(ValueError, match="a token may have at most 32 weights"):
        tw.moe.normalize_weight(weights)
    sums, normalized = moe.normalize_weight(weights, wide_rows=True)
    wanted = np.full(5, 1e-20, "float32")
    for j in range(40):
        wanted = wanted + weights[:, j]
    np.testing.assert_array_equal(sums, wanted)
    np.testing.assert_array_equal(normalized, weights / sums[:, None])


# ---- moe_topk_gate_forward ----
def sqrt_softplus(x: np.ndarray) -> np.ndarray:
    x = x.astype("float64")
    return np.sqrt(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))).astype("float32")


def some_gate(tokens: int, experts: int, k: int, shared: int) -> dict:
    """Arguments with every option; for each token one of them counts."""
    turn = np.arange(tokens) % 5
    counts = np.arange(experts + shared, dtype="int32") % 3 + 1
    places = np.full((experts + shared, 3), -1, "int32")
    places[np.arange(3) < counts[:, None]] = np.arange(counts.sum())
    return {
        "logits": random(tokens, experts),
        "num_topk": k,
        "use_shared_as_routed": shared > 0,
        "num_shared_experts": shared,
        "routed_scaling_factor": 1.5,
        "ep_rank": 3,
        "mask": turn != 0,
        "bias": random(experts, seed=1),
        "image_bias": random(experts, seed=2),
        "image_token_mask": np.arange(tokens) % 2 == 0,
        "fix_routing_mask": turn == 1,
        "to_physical_map": places,
        "logical_count": counts,
        "unmapped_topk_idx": np.tile(np.arange(k)[::-1] * 2, (tokens, 1)),
        "force_random": turn == 2,
        "scores": np.empty((tokens, experts), "float32"),
    }


def check_gate(args: dict, idx: np.ndarray, weights: np.ndarray) -> None:
    u, k, fixed = args["scores"], args["num_topk"], args["fix_routing_mask"]
    experts, slots = u.shape[1], idx.shape[1]
    forced = args["mask"] & args["force_random"]
    routed = args["mask"] & ~forced
    np.testing.assert_allclose(u[routed], sqrt_softplus(args["logits"][routed]), rtol=1e-6)
    assert not u[~routed].any()
    keys = u + np.where(args["image_token_mask"][:, None], args["image_bias"], args["bias"])
    given = np.arange(k)[::-1] * 2
    chosen = np.where(fixed[:, None], given, best(keys, k))
    np.testing.assert_array_equal(args["unmapped_topk_idx"][routed], chosen[routed])
    assert (args["unmapped_topk_idx"][~routed] == -1).all()

    logical = np.hstack([chosen, np.tile(np.arange(experts, experts + slots - k), (len(u), 1))])
    turn = 3 + 23333 * np.arange(len(u))[:, None]
    physical = args["to_physical_map"][logical, turn % args["logical_count"][logical]]
    np.testing.assert_array_equal(idx[routed], physical[routed])
    of_chosen = np.take_along_axis(u, chosen, 1)
    wanted = np.ones(idx.shape, "float32")
    with np.errstate(invalid="ignore"):
        wanted[:, :k] = of_chosen / denominator(of_chosen)[:, None] * np.float32(1.5)
    np.testing.assert_array_equal(weights[routed], wanted[routed])
    assert (idx[~args["mask"]] == -1).all() and not weights[~args["mask"]].any()
    assert ((idx[forced] >= 0) & (idx[forced] < args["logical_count"].sum())).all()
    assert all(len(set(row)) == slots for row in idx[forced].tolist())
    assert ((weights[forced] > 0) & (weights[forced] <= 1)).all()


@pytest.mark.parametrize("tokens", [0, 1, 67])
@pytest.mark.parametrize(("experts", "k", "shared"), [(72, 6, 1), (256, 8, 2), (16, 6, 0)])
def test_moe_topk_gate_forward(tokens: int, experts: int, k: int, shared: int) -> None:
    args = some_gate(tokens, experts, k, shared)
    idx, weights = moe.moe_topk_gate_forward(**args)
    assert idx.shape == weights.shape == (tokens, k + shared)
    check_gate(args, idx, weights)
    again = some_gate(tokens, experts, k, shared)
    out = (np.empty_like(idx), np.empty_like(weights))
    got = moe.moe_topk_gate(**again, out=out)
    assert got[0] is out[0] and got[1] is out[1]
    for a, b in ((out[0], idx), (out[1], weights)):
        np.testing.assert_array_equal(a, b)
    for name in ("scores", "unmapped_topk_idx"):
        np.testing.assert_array_equal(again[name], args[name])


def test_moe_topk_gate_forward_takes_its_arguments_by_position() -> None:
    logits = random(3, 16)
    idx, weights = moe.moe_topk_gate_forward(logits, 2, False, 1, 1.0, 0, "sqrtsoftplus")
    np.testing.assert_array_equal(idx, best(sqrt_softplus(logits), 2))
    np.testing.assert_allclose(weights.sum(1), 1, rtol=1e-6)


def test_unmapped_topk_idx_may_have_gaps_between_rows() -> None:
    logits, storage = random(3, 16), np.full((3, 9), 7)
    unmapped = storage[:, 2:6]
    idx, _ = moe.moe_topk_gate(logits, 4, False, 0, 1.0, 0, unmapped_topk_idx=unmapped)
    np.testing.assert_array_equal(unmapped, idx)
    assert (storage[:, :2] == 7).all() and (storage[:, 6:] == 7).all()


def test_forced_experts_are_uniform() -> None:
    tokens, experts, k = 4096, 32, 6
    idx, weights = moe.moe_topk_gate(
        random(tokens, experts), k, False, 0, 1.0, 0, force_random=np.ones(tokens, bool)
    )
    counts = np.bincount(idx.ravel(), minlength=experts)
    mean = tokens * k / experts
    assert ((counts - mean) ** 2 / mean).sum() < 4 * (experts - 1)
    assert abs(weights.mean() - 0.5) < 0.01


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scoring_func": "sigmoid"}, "scoring_func is 'sigmoid', it must be 'sqrtsoftplus'"),
        ({"num_shared_experts": 3}, "num_shared_experts is 3, it must be 1 or 2"),
        ({"num_topk": 0}, "num_topk is 0, it must be at least 1"),
        ({"num_topk": 32}, "32 experts of a token and 1 shared ones are more than 32"),
        ({"ep_rank": -1}, "ep_rank is -1, with to_physical_map it must be 0 or more"),
        ({"image_bias": None}, "image_token_mask is given without image_bias"),
        ({"logical_count": None}, "to_physical_map is given without logical_count"),
        ({"unmapped_topk_idx": None}, "fix_routing_mask is given without unmapped_topk_idx"),
        ({"mask": np.ones(4, bool)}, "mask is bool [4], it must be [5] [tokens]"),
        (
            {"out": (np.empty((5, 8), "int64"), np.empty((5, 8), "float32"))},
            "topk_idx is i64 [5, 8], it must be [5, 7]",
        ),
    ],
)
def test_what_does_not_fit_a_gate_is_an_error(options: dict, message: str) -> None:
    args = {**some_gate(5, 72, 6, 1), **options}
    with pytest.raises(ValueError, match=re.escape(f"moe_topk_gate_forward: {message}")):
        moe.moe_topk_gate_forward(**args)


def test_wrong_kinds_are_type_errors() -> None:
    logits = random(3, 16)
    with pytest.raises(TypeError, match="mask is u8"):
        moe.moe_topk_gate(logits, 2, False, 0, 1.0, 0, mask=np.ones(3, "uint8"))
    with pytest.raises(TypeError, match="out must be a tuple"):
        moe.moe_topk_gate(logits, 2, False, 0, 1.0, 0, out=np.empty((3, 2), "int64"))


# ---- moe_topk_gate_backward ----
def gradient(
    u: np.ndarray,
    idx: np.ndarray,
    weights: np.ndarray,
    g: np.ndarray,
    mask: np.ndarray | None,
    h: np.ndarray | None,
) -> np.ndarray:
    u, weights, g = (x.astype("float64") for x in (u, weights, g))
    rows, exists = np.arange(len(u))[:, None], idx >= 0
    total = np.where(exists, u[rows, idx], 0).sum(1, keepdims=True) + 1e-20
    dot = np.where(exists, g * weights, 0).sum(1, keepdims=True)
    a = np.zeros(u.shape)
    np.add.at(a, (rows, idx), np.where(exists, (1.5 * g - dot) / total, 0))
    if h is not None:
        h = np.repeat(h.astype("float64"), len(u) // len(h), axis=0)
        inverse = np.zeros((len(u), 1))
        inverse[mask] = 1 / u[mask].sum(1, keepdims=True)
        a += (h - (h * u).sum(1, keepdims=True) * inverse) * inverse
    factor = np.zeros(u.shape)
    np.divide(-np.expm1(-u * u), 2 * u, out=factor, where=u != 0)
    return a * factor


@pytest.mark.parametrize("sequences", [0, 1, 2])
@pytest.mark.parametrize("tokens", [0, 1, 64])
def test_moe_topk_gate_backward(tokens: int, sequences: int) -> None:
    tokens *= max(sequences, 1)
    mask = np.arange(tokens) % 5 != 1
    u, unmapped = np.empty((tokens, 72), "float32"), np.empty((tokens, 6), "int64")
    _, weights = moe.moe_topk_gate(
        random(tokens, 72), 6, False, 0, 1.5, 0, mask=mask, unmapped_topk_idx=unmapped, scores=u
    )
    g, h = random(tokens, 6), random(sequences, 72) if sequences else None
    aux = {"mask": mask, "grad_scores_sum": h} if sequences else {}
    got = moe.moe_topk_gate_backward(u, unmapped, weights, g, 1.5, **aux)
    wanted = gradient(u, unmapped, weights, g, mask, h)
    most = np.abs(wanted).max(initial=0)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5 * most)
    assert not got[~mask].view("uint32").any()
    out = np.empty_like(got)
    assert moe.moe_topk_gate_backward(u, unmapped, weights, g, 1.5, out=out, **aux) is out
    np.testing.assert_array_equal(out, got)


def test_what_does_not_fit_the_gradient_is_an_error() -> None:
    u, idx, w = random(4, 16), np.zeros((4, 2), "int64"), random(4, 2)
    with pytest.raises(ValueError, match="mask is given without grad_scores_sum"):
        moe.moe_topk_gate_backward(u, idx, w, w, 1.0, mask=np.ones(4, bool))
    with pytest.raises(ValueError, match="the number of sequences must divide"):
        moe.moe_topk_gate_backward(
            u, idx, w, w, 1.0, mask=np.ones(4, bool), grad_scores_sum=random(3, 16)
        )
    with pytest.raises(ValueError, match="scoring_func is 'softmax'"):
        moe.moe_topk_gate_backward(u, idx, w, w, 1.0, "softmax")
    with pytest.raises(TypeError, match="topk_idx is i32"):
        moe.moe_topk_gate_backward(u, idx.astype("int32"), w, w, 1.0)


# ---- top2_sum_gate ----
def scores_of(scoring_func: str, x: np.ndarray) -> np.ndarray:
    if scoring_func == "softmax":
        e = np.exp(x.astype("float64") - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True)
    return 1 / (1 + np.exp(-x)) if scoring_func == "sigmoid" else sqrt_softplus(x)


@pytest.mark.parametrize("scoring_func", ["sigmoid", "sqrtsoftplus", "softmax"])
@pytest.mark.parametrize(("groups", "kept"), [(0, 0), (8, 8), (8, 3)])
@pytest.mark.parametrize("tokens", [0, 1, 36])
def test_top2_sum_gate(scoring_func: str, groups: int, kept: int, tokens: int) -> None:
    args = some_gate(tokens, 72, 6, 2)
    logits, bias, mask = args["logits"], args["bias"], args["mask"]
    fixed, counts, places = (
        args[name] for name in ("fix_routing_mask", "logical_count", "to_physical_map")
    )
    unmapped = args["unmapped_topk_idx"]
    given = unmapped.copy()
    idx, weights = moe.top2_sum_gate(
        *(logits, bias, 6, kept, groups, True, 2, 1.5, 3, 2, 1, 2, scoring_func.upper()),
        *(mask, fixed, places, counts, unmapped),
    )
    assert idx.shape == weights.shape == (tokens, 8)
    u = scores_of(scoring_func, logits)
    keys = (logits if scoring_func == "softmax" else u.astype("float32")) + bias
    if kept < groups:
        grouped = keys.reshape(tokens, groups, 72 // groups)
        sums = np.sort(grouped, axis=2)[..., -2:].sum(2)
        stays = np.zeros((tokens, groups), bool)
        np.put_along_axis(stays, best(sums, kept), True, 1)
        keys = np.where(stays[..., None], grouped, -np.inf).reshape(tokens, 72)
    chosen = np.where(fixed[:, None], given, best(keys, 6))
    np.testing.assert_array_equal(unmapped, np.where(mask[:, None], chosen, -1))

    logical = np.hstack([chosen, np.tile([72, 73], (tokens, 1))])
    turn = 3 + 23333 * np.arange(tokens)[:, None]
    physical = places[logical, turn % counts[logical]]
    rank = physical // 37
    local = np.where(rank % 2 == 1, rank // 2 * 37 + physical % 37, -1)
    np.testing.assert_array_equal(idx, np.where(mask[:, None], local, -1))
    of_chosen = np.take_along_axis(u, chosen, 1)
    wanted = np.hstack([1.5 * of_chosen / of_chosen.sum(1, keepdims=True), np.ones((tokens, 2))])
    np.testing.assert_allclose(weights, np.where(mask[:, None], wanted, 0), rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scoring_func": "identity"}, "scoring_func is 'identity', it must be 'sigmoid'"),
        ({"num_groups": 5}, "num_topk_groups is 0 of 5 groups"),
        ({"num_ep_ranks": 17}, "16 experts on 17 ranks leave none for each"),
        ({"use_shared_as_routed": True}, "1 shared experts need a to_physical_map"),
        ({"num_topk": -2}, "num_topk is -2, it must be at least 1"),
    ],
)
def test_what_does_not_fit_top2_sum_gate_is_an_error(options: dict, message: str) -> None:
    args = {
        **{"logits": random(3, 16), "bias": random(16), "num_topk": 2, "num_topk_groups": 0},
        **{"num_groups": 0, "use_shared_as_routed": False, "num_shared_experts": 1},
        **{"routed_scaling_factor": 1.0, "ep_rank": 0, "num_ep_ranks": 1, "tp_rank": 0},
        **{"num_tp_ranks": 1, "scoring_func": "sigmoid"},
        **options,
    }
    with pytest.raises(ValueError, match=re.escape(f"top2_sum_gate: {message}")):
        moe.top2_sum_gate(**args)
