"""The expert-major layout: its maps, rows that go there, and sums that come back (v1)."""

from torch import Tensor

from .. import _native


def get_fused_mapping(
    topk_idx: Tensor,
    num_experts: int,
    num_expanded_tokens: int,
    alignment: int,
    force_no_sync: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, list[int]]:
    """(pos_to_expert, pos_to_token, pos_to_token_topk, token_topk_to_pos, expert_start, expert_end,
    num_tokens_per_expert, the same as a list when the host waits for the layout's size)."""
    return _native.moe.get_fused_mapping(
        topk_idx, num_experts, num_expanded_tokens, alignment, force_no_sync
    )


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


def reduce_fused(
    x: Tensor | tuple[Tensor, Tensor],
    topk_weights: Tensor | None,
    token_topk_to_pos: Tensor,
    fp8_format: str = "",
    sf: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The weighted sum of each token's rows, slot by slot with fused multiply-adds."""
    return _native.moe.reduce_fused(x, topk_weights, token_topk_to_pos, fp8_format, sf, out)
