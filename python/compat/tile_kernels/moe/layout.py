"""Rows of tokens in the expert-major layout (v1)."""

from torch import Tensor

from .. import _native


def expand_to_fused(x: Tensor, token_topk_to_pos: Tensor, pos_to_expert: Tensor) -> Tensor:
    """Each token's row at all of its positions; zeros where there is no expert."""
    return _native.moe.expand_to_fused(x, token_topk_to_pos, pos_to_expert)


def expand_to_fused_with_sf(
    x: tuple[Tensor, Tensor],
    num_per_channels: int,
    token_topk_to_pos: Tensor,
    pos_to_expert: Tensor,
    use_tma_aligned_col_major_sf: bool = False,
) -> tuple[Tensor, Tensor]:
    """The same of codes and of their factors, whose columns may be made to lie densely."""
    return _native.moe.expand_to_fused_with_sf(
        x, num_per_channels, token_topk_to_pos, pos_to_expert, use_tma_aligned_col_major_sf
    )
