"""Numbers of experts: renumbered, made unique, counted (v1)."""

from torch import Tensor

from .. import _native


def mask_indices_by_tp(
    indices: Tensor, n: int, num_ep_ranks: int, tp_rank: int, num_tp_ranks: int
) -> Tensor:
    """Indices of the experts of one tensor-parallel rank, numbered densely; the others are -1."""
    return _native.moe.mask_indices_by_tp(indices, n, num_ep_ranks, tp_rank, num_tp_ranks)


def inplace_unique_group_indices(group_indices: Tensor, num_groups: int) -> None:
    """What occurred before in its row becomes -1; negative entries stay."""
    _native.moe.inplace_unique_group_indices(group_indices, num_groups)


def group_count(group_idx: Tensor, num_groups: int) -> Tensor:
    """How often each group occurs; negative entries don't count."""
    return _native.moe.group_count(group_idx, num_groups)


def aux_fi(topk_idx: Tensor, num_experts: int, num_aux_topk: int) -> Tensor:
    """How often each expert occurs, relative to a uniform choice of num_aux_topk."""
    return _native.moe.aux_fi(topk_idx, num_experts, num_aux_topk)
