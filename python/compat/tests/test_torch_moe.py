"""The references of routing: the examples that define them."""

import math

import numpy as np
import pytest
import torch

from tile_kernels import torch as reference
from tile_kernels.testing.numeric import assert_equal
from tile_kernels.torch.fma import fma
from tile_kernels.torch.topk import sqrt_softplus_ref

nan, inf = math.nan, math.inf
LOGITS = torch.tensor([[0.5, -1, 2, 0, 1, 1, -2, 3], [0.0] * 8])


def bits(x: torch.Tensor) -> list[int]:
    return (x.contiguous().view(torch.int32).flatten().long() & 0xFFFFFFFF).tolist()


def ints(*rows: list[int], dtype: torch.dtype = torch.int64) -> torch.Tensor:
    return torch.tensor(rows, dtype=dtype)


def close(found: torch.Tensor, *rows: list[float]) -> bool:
    return torch.allclose(found, torch.tensor(rows), rtol=1e-5, atol=1e-8)


def test_topk_is_stable() -> None:
    for row, k, wanted in [
        ([1.0, 3, 3, 2], 3, [1, 2, 3]),
        ([0.0, -0.0, 0.0, -1.0], 3, [0, 1, 2]),
        ([5.0] * 6, 4, [0, 1, 2, 3]),
    ]:
        assert_equal(reference.stable_topk(torch.tensor([row]), k), ints(wanted))
    assert reference.stable_topk(torch.randn(1, 9), 4).stride() == (4, 1)
    assert reference.stable_topk(torch.randn(0, 9), 4).shape == (0, 4)


def test_groups_are_ranked_by_their_best() -> None:
    scores = torch.tensor([[[1.0, 2, 0, 0], [3, 0, 0, 0], [2, 2, 1, 2], [0, 1, -1, 0]]])
    rank = reference.topk_sum_and_topk_group_idx
    assert_equal(rank(scores, 2, 2), ints([2, 0]))
    assert_equal(rank(scores, 2, 3), ints([2, 0, 1]))
    assert_equal(rank(scores, 1, 3), ints([1, 0, 2]))
    assert rank(scores, 1, 2).stride() == (2, 1)
    low = torch.full((1, 3, 2), -inf)
    assert_equal(rank(low, 2, 3), ints([0, 1, 2]))


def test_scores_of_a_router() -> None:
    x = torch.tensor([0.0, 1, -1, 2, 25, -30, 20, -120])
    wanted = [0.8325546, 1.1459763, 0.5596979, 1.4583992, 5, 3.0590232e-07, 4.4721360, 0]
    assert close(sqrt_softplus_ref(x), wanted)


@pytest.mark.parametrize(
    ("row", "denominator", "normalized"),
    [
        ([1, 2**-24, 2**-24, 2**-24], 0x3F800001, [0x3F7FFFFE] + 3 * [0x337FFFFE]),
        (
            [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
            0x40066667,
            [0x3D430C30, 0x3DC30C30, 0x3E124924, 0x3E430C30, 0x3E73CF3C, 0x3E924924],
        ),
        ([0.0, 0, 0], 0x1E3CE508, [0, 0, 0]),
    ],
)
def test_weights_are_summed_as_a_tree(row: list, denominator: int, normalized: list) -> None:
    found = reference.normalize_weight(torch.tensor([row], dtype=torch.float32))
    assert (bits(found[0]), bits(found[1])) == ([denominator], normalized)


def test_rows_of_more_than_32_are_summed_from_left_to_right() -> None:
    row = [1.0] + 39 * [2.0**-24]
    assert reference.normalize_weight(torch.tensor([row]))[0].item() == 1.0
    row = 39 * [2.0**-24] + [1.0]
    assert reference.normalize_weight(torch.tensor([row]))[0].item() > 1.0


def old_gate(logits: torch.Tensor, **changes: object) -> tuple[torch.Tensor, torch.Tensor]:
    arguments = {
        "bias": torch.zeros(8), "num_topk": 3, "num_topk_groups": 2, "num_groups": 4,
        "use_shared_as_routed": False, "num_shared_experts": 0, "routed_scaling_factor": 1.5,
        "ep_rank": 0, "num_ep_ranks": 2, "tp_rank": 0, "num_tp_ranks": 1,
        "scoring_func": "sigmoid", **changes,
    }  # fmt: skip
    return reference.top2_sum_gate(logits, **arguments)


def test_the_old_gate_keeps_the_best_groups() -> None:
    ids, weights = old_gate(LOGITS)
    assert_equal(ids, ints([2, 4, 5], [0, 1, 2]))
    assert close(weights, [0.5639112, 0.4680444, 0.4680444], [0.5, 0.5, 0.5])
    again, same = old_gate(LOGITS, num_ep_ranks=4, num_tp_ranks=2)
    assert_equal(again, ints([-1, 2, 3], [0, 1, -1]))
    assert_equal(same, weights)
    other, _ = old_gate(LOGITS, num_ep_ranks=4, num_tp_ranks=2, tp_rank=1)
    assert_equal(other, ints([0, -1, -1], [-1, -1, 0]))


def test_the_old_gate_with_softmax_ranks_logits() -> None:
    ids, weights = old_gate(
        LOGITS, bias=torch.tensor([0.0, 0, 0, 0, 0, 0, 3, -3]), num_topk=2, num_topk_groups=0,
        num_groups=0, scoring_func="SoftMax", routed_scaling_factor=2, num_ep_ranks=1,
    )  # fmt: skip
    assert_equal(ids, ints([2, 4], [6, 0]))
    assert close(weights, [1.4621172, 0.5378829], [1, 1])


def test_the_old_gate_with_shared_experts_and_duplicates() -> None:
    table = [[0, 1], [2], [3], [4, 5], [6], [7], [8], [9], [10, 11]]
    counts = torch.tensor([len(row) for row in table], dtype=torch.int32)
    to_physical = torch.tensor([row + [-1] * (5 - len(row)) for row in table], dtype=torch.int32)
    logits = torch.tensor([[0.5, -1, 2, 3, 1, 1, -2, 0]]).repeat(3, 1)
    for tp_rank, wanted in [(1, [[2, 0, 5], [1, 0, 4], [-1] * 3]), (0, [[-1] * 3] * 3)]:
        unmapped = torch.zeros((3, 2), dtype=torch.int64)
        ids, weights = old_gate(
            logits, num_topk=2, num_topk_groups=0, num_groups=0, use_shared_as_routed=True,
            num_shared_experts=1, routed_scaling_factor=2.5, ep_rank=1, num_ep_ranks=4,
            tp_rank=tp_rank, num_tp_ranks=2, scoring_func="sqrtsoftplus",
            mask=torch.tensor([True, True, False]), to_physical_map=to_physical,
            logical_count=counts, unmapped_topk_idx=unmapped,
        )  # fmt: skip
        assert_equal(ids, ints(*wanted))
        row = [1.3621972, 1.1378028, 1.0]
        assert close(weights, row, row, [0, 0, 0])
        assert_equal(unmapped, ints([3, 2], [3, 2], [-1, -1]))


NEW_LOGITS = torch.tensor([[0.0, 0, 0, 0], [1, -1, 2, 0], [1, -1, 2, 0], [25, -30, 0.5, -0.5]])


def new_gate(**changes: object) -> tuple[torch.Tensor, torch.Tensor]:
    return reference.moe_topk_gate_forward(
        NEW_LOGITS, 2, False, 0, 1.5, 0, "sqrtsoftplus", bias=torch.tensor([0.0, 0, -1, 0]),
        image_bias=torch.tensor([0.0, 1, 0, 0]),
        image_token_mask=torch.tensor([False, False, True, False]), **changes,
    )  # fmt: skip


def test_the_new_gate() -> None:
    weights = [
        [0.75, 0.75], [0.8688085, 0.6311916], [0.4160091, 1.0839909], [1.3184420, 0.1815580]
    ]  # fmt: skip
    ids, found = new_gate()
    assert_equal(ids, ints([0, 1], [0, 3], [1, 2], [0, 3]))
    assert close(found, *weights)
    out = (torch.zeros_like(ids), torch.zeros_like(found))
    again = new_gate(out=out)
    assert again[0] is out[0] and again[1] is out[1]
    assert_equal(out[0], ids)
    assert_equal(out[1], found)


def test_experts_may_be_fixed() -> None:
    given = ints([0, 0], [1, 0], [0, 0], [1, 1])
    ids, weights = new_gate(
        fix_routing_mask=torch.tensor([False, True, False, True]), unmapped_topk_idx=given
    )
    assert_equal(ids, ints([0, 1], [1, 0], [1, 2], [1, 1]))
    assert close(weights[1::2], [0.4922082, 1.0077919], [0.75, 0.75])
    assert_equal(given, ids)


def test_rows_that_are_not_routed_may_hold_anything() -> None:
    logits = torch.tensor([[nan, inf, 0, 1], [1, 0, 0, 0]])
    unmapped = ints([7, 7], [7, 7])
    ids, weights = reference.moe_topk_gate_forward(
        logits, 2, True, 2, 1.0, 3, "sqrtsoftplus", mask=torch.tensor([False, True]),
        to_physical_map=torch.arange(18, dtype=torch.int32).view(6, 3),
        logical_count=torch.tensor([2, 3, 1, 1, 1, 3], dtype=torch.int32),
        unmapped_topk_idx=unmapped,
    )  # fmt: skip
    assert_equal(ids, ints([-1] * 4, [0, 3 + 23336 % 3, 12, 15 + 23336 % 3]))
    assert weights[0].tolist() == [0] * 4 and weights[1, 2:].tolist() == [1, 1]
    assert_equal(unmapped, ints([-1, -1], [0, 1]))


def test_duplicates_are_chosen_in_64_bits() -> None:
    row = 100000
    logical = torch.zeros((row, 1), dtype=torch.int64)
    logits = torch.zeros((row, 4))
    ids, _ = reference.moe_topk_gate_forward(
        logits, 1, False, 0, 1.0, 5, "sqrtsoftplus",
        to_physical_map=torch.arange(28, dtype=torch.int32).view(4, 7),
        logical_count=torch.full((4,), 7, dtype=torch.int32), unmapped_topk_idx=logical,
    )  # fmt: skip
    assert ids[row - 1, 0] == (5 + (row - 1) * 23333) % 7


def backward(logits: list, idx: list, g: list, **changes: object) -> torch.Tensor:
    scores = sqrt_softplus_ref(torch.tensor(logits, dtype=torch.float32))
    index = ints(*idx)
    _, weights = reference.normalize_weight(scores.gather(1, index.clamp(min=0)))
    if "mask" in changes:
        scores = scores * changes["mask"][:, None]
    weights = 1.5 * weights * (index >= 0)
    gradient = torch.tensor(g, dtype=torch.float32)
    return reference.moe_topk_gate_backward(
        scores, index, weights, gradient, 1.5, "sqrtsoftplus", **changes
    )


def test_the_gradient() -> None:
    found = backward([[1, -1, 2, 0]], [[2, 0]], [[1, -0.5]])
    assert close(found, [-0.1543115, 0, 0.1147943, 0])
    assert backward([[1, -1, 2, 0]], [[2, 2]], [[1, -0.5]]).abs().max() < 1e-6


def test_the_gradient_with_a_loss_of_sequences() -> None:
    found = backward(
        [[1, -1, 2, 0], [0, 0, 0, 0], [-1, 1, 0.5, 3], [9, 9, 9, 9]],
        [[2, 0], [0, 1], [3, 1], [-1, -1]],
        [[1, -0.5], [0.25, 0.75], [0, 0], [5, 5]],
        mask=torch.tensor([True, True, True, False]),
        grad_scores_sum=torch.tensor([[0.1, -0.2, 0.3, 0], [1, 0, -1, 0.5]]),
    )
    assert close(
        found,
        [-0.15512055, -0.01864380, 0.12913982, -0.00827500],
        [-0.06311791, 0.04508422, 0.02254211, -0.00450842],
        [0.04869231, -0.00721674, -0.07817977, 0.02455649],
        [0, 0, 0, 0],
    )
    assert bits(found[3]) == [0] * 4  # no -0


def test_the_gradient_is_that_of_the_forward_pass() -> None:
    torch.manual_seed(0)
    logits = torch.randn(6, 12, dtype=torch.float64, requires_grad=True)
    index = torch.stack([torch.randperm(12)[:4] for _ in range(6)])
    g, h = torch.randn(6, 4), torch.randn(2, 12)
    u = torch.nn.functional.softplus(logits).sqrt()
    chosen = u.gather(1, index)
    weights = chosen / chosen.sum(1, keepdim=True) * 1.5
    routed = torch.arange(6) % 3 != 1
    sums = (u / u.sum(1, keepdim=True) * routed[:, None]).view(2, 3, 12).sum(1)
    (wanted,) = torch.autograd.grad((weights * g).sum() + (sums * h).sum(), logits)
    found = reference.moe_topk_gate_backward(
        u.detach().float(), index, weights.detach().float(), g, 1.5, "sqrtsoftplus",
        mask=routed, grad_scores_sum=h,
    )  # fmt: skip
    assert torch.allclose(found.double(), wanted, rtol=1e-4, atol=1e-5)


def test_experts_of_a_tensor_parallel_rank() -> None:
    indices = ints([0, 2, 7, -1], [15, 10, 4, 3])
    wanted = ints([-1, 0, 3, -1], [7, 4, -1, 1])
    assert_equal(reference.mask_indices_by_tp(indices, 16, 8, 1, 2), wanted)
    narrow = reference.mask_indices_by_tp(indices.int(), 16, 8, 1, 2)
    assert_equal(narrow, wanted.int())
    every = torch.arange(-1, 17)
    for tp_rank in range(3):
        local = reference.mask_indices_by_tp(every, 17, 5, tp_rank, 3)  # three experts a rank
        for p, found in zip(every.tolist(), local.tolist(), strict=True):
            mine = p >= 0 and p // 3 % 3 == tp_rank
            assert found == (p // 3 // 3 * 3 + p % 3 if mine else -1)


def test_counts_and_frequencies() -> None:
    indices = ints([0, 2], [2, -1], [1, 2])
    assert_equal(reference.group_count(indices, 4), torch.tensor([1, 1, 3, 0], dtype=torch.int32))
    assert close(reference.aux_fi(indices, 4, 2), [0.6666667, 0.6666667, 2, 0])
    assert close(reference.aux_fi(indices, 4, 1), [1.3333334, 1.3333334, 4, 0])
    assert_equal(reference.group_count(indices[:0], 3), torch.zeros(3, dtype=torch.int32))
    assert_equal(reference.aux_fi(indices[:0], 3, 2), torch.zeros(3))
    assert_equal(reference.group_count(ints([-7, 0]), 1), torch.ones(1, dtype=torch.int32))


def test_what_occurred_before_goes() -> None:
    indices = ints([3, 3, 5, -1], [0, 1, 0, 0], [-1, 2, -1, 2], [-5, -5, 1, 1])
    assert reference.inplace_unique_group_indices(indices, 8) is None
    assert_equal(indices, ints([3, -1, 5, -1], [0, 1, -1, -1], [-1, 2, -1, -1], [-5, -5, 1, -1]))


POSITIONS = ints([4, 0], [5, -1], [8, 6], dtype=torch.int32)
EXPERTS = ints([0, -1, -1, -1, 1, 1, 1, -1, 3, -1, -1, -1], dtype=torch.int32)[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.int8])
def test_rows_go_to_their_positions(dtype: torch.dtype) -> None:
    a, b, c = rows = torch.arange(1, 25).view(3, 8).to(dtype)
    o = torch.zeros_like(a)
    wanted = torch.stack([a, o, o, o, a, b, c, o, c, o, o, o])
    assert_equal(reference.expand_to_fused(rows, POSITIONS, EXPERTS), wanted)
    none = reference.expand_to_fused(rows[:0], POSITIONS[:0], EXPERTS)
    assert_equal(none, torch.zeros_like(wanted))


def test_factors_go_with_their_rows() -> None:
    rows, sf = torch.randn(3, 64), torch.randn(3, 2)
    data, factors = reference.expand_to_fused_with_sf((rows, sf), 32, POSITIONS, EXPERTS)
    assert_equal(data, reference.expand_to_fused(rows, POSITIONS, EXPERTS))
    assert_equal(factors, reference.expand_to_fused(sf, POSITIONS, EXPERTS))
    words = sf.view(torch.int32)
    _, columns = reference.expand_to_fused_with_sf((rows, words), 32, POSITIONS, EXPERTS[:9], True)
    assert columns.stride() == (1, 12)
    assert_equal(columns.contiguous(), factors[:9].view(torch.int32))


def test_sums_are_fused_multiply_adds() -> None:
    x = torch.tensor([[1.0], [3.0]])
    third = torch.tensor([[-1.0, 1 / 3], [nan, nan]])
    found = reference.reduce_fused(x, third, ints([0, 1], [-1, -1], dtype=torch.int32))
    assert bits(found) == [0x33000000, 0]
    thousand = (torch.full((1, 2), 1000.0), None, ints([0], dtype=torch.int32), "e4m3")
    for factor, wanted in [(1.0, 448), (0.25, 256)]:
        sum8 = reference.reduce_fused(*thousand, torch.tensor([factor]))
        assert sum8.dtype == torch.float8_e4m3fn and sum8.float().tolist() == [[wanted] * 2]
    assert reference.reduce_fused(*thousand).float().tolist() == [[448] * 2]
    empty = reference.reduce_fused(x, None, POSITIONS[:0])
    assert empty.shape == (0, 1)


def test_sums_take_factors_of_rows() -> None:
    x, sf = torch.randn(12, 4).bfloat16(), torch.randn(12)
    weights = torch.rand(3, 2)
    found = reference.reduce_fused((x, sf), weights, POSITIONS)
    wide = x.double() * sf.double()[:, None]
    wanted = torch.stack(
        [wide[4] * weights[0, 0] + wide[0] * weights[0, 1], wide[5] * weights[1, 0],
         wide[8] * weights[2, 0] + wide[6] * weights[2, 1]]
    )  # fmt: skip
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.double(), wanted, rtol=2**-7)


def test_fma_rounds_once() -> None:
    """Beside exact arithmetic, on operands that cancel and tie."""
    from fractions import Fraction

    generator = np.random.default_rng(1)
    a, b, c = generator.standard_normal((3, 3000)).astype("float32")
    c[::3] = -(a * b)[::3]
    a[1::3], b[1::3] = 1 + 2**-12, 1 + 2**-12  # the product needs 25 bits
    c[1::3] *= np.float32(2.0) ** generator.integers(-60, 60, 1000)
    found = fma(*map(torch.from_numpy, (a, b, c))).tolist()
    for x, y, z, got in zip(a.tolist(), b.tolist(), c.tolist(), found, strict=True):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        error = abs(Fraction(got) - exact)
        for neighbour in (np.nextafter(np.float32(got), np.float32(s)) for s in (-inf, inf)):
            other = abs(Fraction(float(neighbour)) - exact)
            even = int(np.float32(got).view("int32")) % 2 == 0
            assert error < other or (error == other and even)


@pytest.mark.parametrize(
    ("a", "b", "c", "wanted"),
    [(inf, 1.0, -inf, nan), (inf, 0.0, 1.0, nan), (inf, 1.0, 5.0, inf), (1e30, 1e30, 0.0, inf),
     (0.0, -1.0, -0.0, -0.0), (1.0, nan, 0.0, nan), (2**-75, 2**-75, 0.0, 0.0),
     (1.5 * 2**-75, 2**-75, 0.0, 2**-149), (1e30, -1e30, inf, inf)],
)  # fmt: skip
def test_fma_of_special_numbers(a: float, b: float, c: float, wanted: float) -> None:
    found = fma(*(torch.tensor([v]) for v in (a, b, c)))
    assert str(found.item()) == str(torch.tensor(wanted).item())
