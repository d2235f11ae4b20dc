"""What operators compute, in plain operations of torch, on any device: the ground truth of tests.

`cast` and `per_channel_cast_fused` name a function here and the submodule that it is from.
"""

from .cast import batched_transpose_weight_sf, cast, cast_back
from .cast_e5m6 import cast_back_from_e5m6, cast_to_e5m6
from .gate import moe_topk_gate_backward, moe_topk_gate_forward, normalize_weight, top2_sum_gate
from .layout import (
    aux_fi,
    expand_to_fused,
    expand_to_fused_with_sf,
    group_count,
    inplace_unique_group_indices,
    mask_indices_by_tp,
    reduce_fused,
)
from .per_channel_cast_fused import per_channel_cast_fused
from .rope import rotary_embedding_ref
from .topk import stable_topk, topk_sum_and_topk_group_idx

__all__ = [
    "aux_fi",
    "batched_transpose_weight_sf",
    "cast",
    "cast_back",
    "cast_back_from_e5m6",
    "cast_to_e5m6",
    "expand_to_fused",
    "expand_to_fused_with_sf",
    "group_count",
    "inplace_unique_group_indices",
    "mask_indices_by_tp",
    "moe_topk_gate_backward",
    "moe_topk_gate_forward",
    "normalize_weight",
    "per_channel_cast_fused",
    "reduce_fused",
    "rotary_embedding_ref",
    "stable_topk",
    "top2_sum_gate",
    "topk_sum_and_topk_group_idx",
]
