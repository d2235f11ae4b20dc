"""Numbers of experts beside their references; and what is refused."""

import pytest
import torch

from tile_kernels import config, moe
from tile_kernels import torch as reference
from tile_kernels.testing.generator import generate_topk_idx
from tile_kernels.testing.numeric import assert_equal, calc_diff

DEVICE = config.get_device()
GRID = [
    {"num_send_tokens": 40, "num_topk": k, "num_experts": total // ranks, "num_ep_ranks": ranks}
    for k in (2, 6, 9)
    for total in (72, 256)
    for ranks in (8, 64)
    if total % ranks == 0
]


def uniform(low: int, high: int, *shape: int) -> torch.Tensor:
    torch.manual_seed(high)
    return torch.randint(low, high, shape, device=DEVICE)


@pytest.mark.parametrize("params", GRID, ids=lambda p: "-".join(map(str, p.values())))
def test_the_grid_of_mixtures(params: dict[str, int]) -> None:
    torch.manual_seed(0)
    idx = generate_topk_idx(params)
    experts, ranks = params["num_experts"], params["num_ep_ranks"]
    for tp in (1, 2, 4, 8):
        arguments = (idx, experts * ranks, ranks, tp - 1, tp)
        assert_equal(moe.mask_indices_by_tp(*arguments), reference.mask_indices_by_tp(*arguments))
    assert_equal(moe.group_count(idx, experts), reference.group_count(idx, experts))
    for topk in (1, params["num_topk"]):
        found, wanted = (f(idx, experts, topk) for f in (moe.aux_fi, reference.aux_fi))
        assert found.dtype == torch.float32 and calc_diff(found, wanted) < 2e-7
    for groups in (8, 16, 72):
        if experts * ranks % groups == 0:
            group = idx.div(experts * ranks // groups, rounding_mode="floor")
            ours, theirs = group.clone(), group.clone()
            assert moe.inplace_unique_group_indices(ours, groups) is None
            reference.inplace_unique_group_indices(theirs, groups)
            assert_equal(ours, theirs)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
@pytest.mark.parametrize(("n", "ep", "tp"), [(16, 8, 2), (17, 5, 3), (64, 6, 4), (9, 9, 1)])
def test_mask_indices_by_tp(dtype: torch.dtype, n: int, ep: int, tp: int) -> None:
    for shape in [(0, 6), (1, 1), (301, 7)]:
        idx = uniform(-1, n, *shape).to(dtype)
        for tp_rank in range(tp):
            found = moe.mask_indices_by_tp(idx, n, ep, tp_rank, tp)
            assert_equal(found, reference.mask_indices_by_tp(idx, n, ep, tp_rank, tp))
    example = torch.tensor([[0, 2, 7, -1], [15, 10, 4, 3]], dtype=dtype, device=DEVICE)
    assert moe.mask_indices_by_tp(example, 16, 8, 1, 2).tolist() == [[-1, 0, 3, -1], [7, 4, -1, 1]]


@pytest.mark.parametrize("groups", [1, 63, 64, 65, 128])
@pytest.mark.parametrize("k", [1, 16, 32])
def test_inplace_unique_group_indices(groups: int, k: int) -> None:
    for rows in (0, 1, 67):
        idx = uniform(-2, groups, rows, k)
        ours, theirs = idx.clone(), idx.clone()
        moe.inplace_unique_group_indices(ours, groups)
        reference.inplace_unique_group_indices(theirs, groups)
        assert_equal(ours, theirs)


@pytest.mark.parametrize("groups", [1, 4, 1000, 4096])
def test_counts(groups: int) -> None:
    for idx in (
        uniform(-3, groups, 0, 4), uniform(-3, groups, 1, 1), uniform(-3, groups, 5000, 6),
        torch.full((99, 3), -1, device=DEVICE), torch.full((99, 3), groups - 1, device=DEVICE),
    ):  # fmt: skip
        assert_equal(moe.group_count(idx, groups), reference.group_count(idx, groups))
        assert_equal(moe.aux_fi(idx, groups, 2), reference.aux_fi(idx, groups, 2))


def test_frequencies_do_not_wrap_around() -> None:
    idx = torch.zeros((1 << 16, 1), dtype=torch.int64, device=DEVICE)
    assert_equal(moe.aux_fi(idx, 1 << 17, 1 << 15), reference.aux_fi(idx, 1 << 17, 1 << 15))
    assert moe.aux_fi(idx, 1 << 17, 1 << 15)[0] == 4


IDX = torch.zeros(3, 2, dtype=torch.int64, device=DEVICE)
WIDE = torch.zeros(3, 4, dtype=torch.int64, device=DEVICE)


@pytest.mark.parametrize(
    "arguments",
    [(IDX, 4, 8, 0, 1), (IDX, 16, 0, 0, 1), (IDX, 16, 8, 0, 0), (IDX, 16, 8, 2, 2),
     (IDX, 16, 8, -1, 2), (IDX.float(), 16, 8, 0, 2), (IDX[0], 16, 8, 0, 2),
     (WIDE[:, ::2], 16, 8, 0, 2)],
)  # fmt: skip
def test_mask_indices_by_tp_refuses(arguments: tuple) -> None:
    with pytest.raises((AssertionError, RuntimeError), match="mask_indices_by_tp"):
        moe.mask_indices_by_tp(*arguments)


@pytest.mark.parametrize("idx", [IDX.int(), IDX[0], WIDE[:, ::2], WIDE[:, :2]])
def test_indices_are_dense_int64(idx: torch.Tensor) -> None:
    for call in (
        lambda: moe.group_count(idx, 4),
        lambda: moe.aux_fi(idx, 4, 1),
        lambda: moe.inplace_unique_group_indices(idx, 4),
    ):
        with pytest.raises((AssertionError, RuntimeError)):
            call()


def test_limits() -> None:
    with pytest.raises(AssertionError, match="129"):
        moe.inplace_unique_group_indices(IDX, 129)
    with pytest.raises(AssertionError, match="num_aux_topk"):
        moe.aux_fi(IDX, 4, 0)


@pytest.mark.skipif(DEVICE != "cpu", reason="a fault of the device ends its use")
def test_groups_must_exist() -> None:
    big = torch.full((1, 1), 64)
    with pytest.raises(RuntimeError):
        moe.group_count(big, 64)
    with pytest.raises(RuntimeError):
        moe.aux_fi(big, 64, 1)
    with pytest.raises(RuntimeError):
        moe.inplace_unique_group_indices(big, 64)
    moe.inplace_unique_group_indices(big - 1, 3)  # below the next multiple of 64
