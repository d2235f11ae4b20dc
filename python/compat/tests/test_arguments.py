"""Every condition on arguments that the API states: a call that violates it is an AssertionError
which names the function, and writes nothing. All but those on optional tensors hold without tokens,
too."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tile_kernels import config, moe, quant
from tile_kernels.quant.cast_back_e5m6_kernel import cast_back_e5m6
from tile_kernels.quant.per_token_cast_to_e5m6_kernel import per_token_cast_to_e5m6
from tile_kernels.transform import apply_rotary

DEVICE = config.get_device()
f32, f64, f16, bf16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
i64, i32, i8, u8, f8 = torch.int64, torch.int32, torch.int8, torch.uint8, torch.float8_e4m3fn


def ones(*shape: int, dtype: torch.dtype = f32) -> torch.Tensor:
    return torch.ones(shape, device=DEVICE).to(dtype)


def gaps(*shape: int, dtype: torch.dtype = f32) -> torch.Tensor:
    """Rows that don't touch."""
    return ones(*shape[:-1], shape[-1] + 4, dtype=dtype)[..., : shape[-1]]


def steps(*shape: int, dtype: torch.dtype = f32) -> torch.Tensor:
    """Elements of a row that don't touch."""
    return ones(*shape[:-1], shape[-1] * 2, dtype=dtype)[..., ::2]


def mask(*shape: int) -> torch.Tensor:
    return ones(*shape, dtype=torch.bool)


class Call:
    """A function, arguments that it takes, and changes to them that it does not."""

    def __init__(
        self, function: Callable, good: dict[str, Any], *bad: dict[str, Any], name: str = ""
    ) -> None:
        self.function, self.good, self.bad = function, good, bad
        self.name = name or function.__name__


TABLE = {"to_physical_map": ones(18, 3, dtype=i32), "logical_count": ones(18, dtype=i32)}
MAP = {"to_physical_map": ones(16, 3, dtype=i32), "logical_count": ones(16, dtype=i32)}
GATE = {
    "logits": ones(4, 16), "num_topk": 2, "use_shared_as_routed": False, "num_shared_experts": 0,
    "routed_scaling_factor": 1.0, "ep_rank": 0,
}  # fmt: skip
OLD_GATE = {
    **GATE, "bias": ones(16), "num_topk_groups": 0, "num_groups": 0, "num_ep_ranks": 1,
    "tp_rank": 0, "num_tp_ranks": 1, "scoring_func": "sigmoid",
}  # fmt: skip
OF_BOTH_GATES: tuple[dict, ...] = (
    {"logits": ones(4, 18)}, {"logits": ones(16)}, {"logits": ones(4, 16, dtype=f64)},
    {"logits": gaps(4, 16)}, {"logits": steps(4, 16)}, {"num_topk": 17}, {"num_topk": 0},
    {"num_topk": -1}, {"logits": ones(4, 64), "bias": ones(64), "num_topk": 33},
    {"ep_rank": -1, **MAP}, {"ep_rank": 2**31}, {"ep_rank": -(2**31) - 1},
    {"use_shared_as_routed": True, "num_shared_experts": 3, **TABLE},
    {"use_shared_as_routed": True, "num_shared_experts": 0, **TABLE},
    {"use_shared_as_routed": True, "num_shared_experts": -1, **TABLE},
    {"mask": mask(5)}, {"mask": ones(4, dtype=u8)}, {"mask": steps(4, dtype=torch.bool)},
    {"mask": mask(4, 1)}, {"bias": ones(15)}, {"bias": ones(16, dtype=f64)}, {"bias": steps(16)},
    {"fix_routing_mask": mask(4)},
    {"fix_routing_mask": mask(3), "unmapped_topk_idx": ones(4, 2, dtype=i64)},
    {"fix_routing_mask": ones(4), "unmapped_topk_idx": ones(4, 2, dtype=i64)},
    {"fix_routing_mask": steps(4, dtype=torch.bool), "unmapped_topk_idx": ones(4, 2, dtype=i64)},
    {"to_physical_map": MAP["to_physical_map"]}, {"logical_count": MAP["logical_count"]},
    {**MAP, "to_physical_map": ones(16, 3, dtype=i64)}, {**MAP, "to_physical_map": ones(16)},
    {**MAP, "to_physical_map": ones(15, 3, dtype=i32)},
    {**MAP, "to_physical_map": ones(16, 0, dtype=i32)},
    {**MAP, "to_physical_map": gaps(16, 3, dtype=i32)},
    {**MAP, "logical_count": ones(15, dtype=i32)}, {**MAP, "logical_count": ones(16, dtype=i64)},
    {**MAP, "logical_count": steps(16, dtype=i32)},
    {"unmapped_topk_idx": ones(4, 2, dtype=i32)}, {"unmapped_topk_idx": ones(4, 3, dtype=i64)},
    {"unmapped_topk_idx": ones(3, 2, dtype=i64)}, {"unmapped_topk_idx": steps(4, 2, dtype=i64)},
)  # fmt: skip
GRADIENT = {
    "scores": ones(4, 16), "topk_idx": ones(4, 2, dtype=i64), "topk_weights": ones(4, 2),
    "grad_topk_weights": ones(4, 2), "routed_scaling_factor": 1.0,
}  # fmt: skip
AUX = {"mask": mask(4), "grad_scores_sum": ones(2, 16)}
LAYOUT = {
    "token_topk_to_pos": torch.arange(8, dtype=i32, device=DEVICE).view(4, 2),
    "pos_to_expert": ones(8, dtype=i32),
}
OF_LAYOUTS = (
    {"token_topk_to_pos": ones(4, 2, dtype=i64)}, {"token_topk_to_pos": ones(8, dtype=i32)},
    {"token_topk_to_pos": gaps(4, 2, dtype=i32)}, {"token_topk_to_pos": ones(3, 2, dtype=i32)},
    {"pos_to_expert": ones(8, dtype=i64)}, {"pos_to_expert": ones(8, 1, dtype=i32)},
    {"pos_to_expert": steps(8, dtype=i32)},
)  # fmt: skip
IDX = ones(4, 2, dtype=i64)
OF_INDICES = (gaps(4, 2, dtype=i64), steps(4, 2, dtype=i64), ones(8, dtype=i64), ones(4, 2))

EXPERTS = [
    Call(moe.topk_gate, {"scores": ones(4, 64), "num_topk": 2},
         {"scores": ones(64)}, {"scores": ones(4, 64, dtype=bf16)}, {"scores": gaps(4, 64)},
         {"scores": steps(4, 64)}, {"num_topk": 0}, {"num_topk": -3}, {"num_topk": 33},
         {"scores": ones(4, 8), "num_topk": 9}),
    Call(moe.topk_sum_and_topk_group_idx,
         {"scores": ones(4, 8, 4), "num_topk_sum": 2, "num_topk_groups": 2},
         {"scores": ones(4, 8)}, {"scores": ones(4, 8, 4, dtype=f64)}, {"scores": gaps(4, 8, 4)},
         {"scores": ones(4, 33, 4)}, {"num_topk_sum": 0}, {"num_topk_sum": 3},
         {"scores": ones(4, 8, 1)}, {"num_topk_groups": 9}, {"num_topk_groups": -1}),
    Call(moe.moe_topk_gate_forward, GATE, *OF_BOTH_GATES,
         {"logits": ones(4, 64), "num_topk": 32, "use_shared_as_routed": True,
          "num_shared_experts": 1},
         {"scoring_func": "softmax"}, {"scoring_func": "SqrtSoftplus"}, {"scoring_func": ""},
         {"image_bias": ones(16)}, {"image_token_mask": mask(4)},
         {"image_bias": ones(15), "image_token_mask": mask(4)},
         {"image_bias": steps(16), "image_token_mask": mask(4)},
         {"image_bias": ones(16, dtype=f16), "image_token_mask": mask(4)},
         {"image_bias": ones(16), "image_token_mask": mask(3)},
         {"image_bias": ones(16), "image_token_mask": ones(4, dtype=u8)},
         {"force_random": mask(3)}, {"force_random": ones(4)},
         {"scores": ones(4, 15)}, {"scores": ones(4, 16, dtype=f64)}, {"scores": gaps(4, 16)},
         {"out": (ones(4, 2, dtype=i64), ones(4, 3))}, {"out": (ones(4, 2), ones(4, 2))},
         {"out": (ones(4, 2, dtype=i64), ones(4, 2, dtype=f64))},
         {"out": (gaps(4, 2, dtype=i64), ones(4, 2))}, {"out": (ones(4, 2, dtype=i64), gaps(4, 2))},
         name="moe_topk_gate"),
    Call(moe.top2_sum_gate, OLD_GATE, *OF_BOTH_GATES,
         {"bias": None}, {"num_groups": 4}, {"num_topk_groups": 2},
         {"num_groups": 4, "num_topk_groups": 5}, {"num_groups": 3, "num_topk_groups": 1},
         {"num_groups": -4, "num_topk_groups": -2},
         {"num_groups": 16, "num_topk_groups": 4},
         {"logits": ones(4, 132), "bias": ones(132), "num_groups": 33, "num_topk_groups": 4},
         {"logits": ones(4, 132), "bias": ones(132), "num_groups": 4, "num_topk_groups": 2},
         {"num_groups": 8, "num_topk_groups": 2, "num_topk": 5},
         {"use_shared_as_routed": True, "num_shared_experts": 1},
         {"use_shared_as_routed": True, "num_shared_experts": 2, "num_topk": 3, **TABLE},
         {"use_shared_as_routed": True, "num_shared_experts": 1, "num_topk": 3,
          "to_physical_map": ones(17, 3, dtype=i32), "logical_count": ones(17, dtype=i32)},
         {"use_shared_as_routed": True, "num_shared_experts": 2,
          "to_physical_map": ones(18, 2, dtype=i32), "logical_count": ones(18, dtype=i32)},
         {"logits": ones(4, 64), "bias": ones(64), "num_topk": 32, "use_shared_as_routed": True,
          "num_shared_experts": 1, "to_physical_map": ones(65, 2, dtype=i32),
          "logical_count": ones(65, dtype=i32)},
         {"num_ep_ranks": 0}, {"num_ep_ranks": -1}, {"num_ep_ranks": 17},
         {"num_ep_ranks": 19, **MAP}, {"num_tp_ranks": 0}, {"num_tp_ranks": -2},
         {"tp_rank": 1}, {"tp_rank": -1}, {"scoring_func": "identity"}),
    Call(moe.moe_topk_gate_backward, GRADIENT,
         {"scores": ones(16)}, {"scores": ones(4, 16, dtype=f64)}, {"scores": gaps(4, 16)},
         {"topk_idx": ones(4, 2, dtype=i32)}, {"topk_idx": ones(8, dtype=i64)},
         {"topk_idx": ones(3, 2, dtype=i64)}, {"topk_idx": gaps(4, 2, dtype=i64)},
         {"topk_weights": ones(4, 3)}, {"topk_weights": ones(4, 2, dtype=bf16)},
         {"topk_weights": gaps(4, 2)}, {"grad_topk_weights": ones(3, 2)},
         {"grad_topk_weights": ones(4, 2, dtype=f64)}, {"grad_topk_weights": gaps(4, 2)},
         {"topk_idx": ones(4, 17, dtype=i64), "topk_weights": ones(4, 17),
          "grad_topk_weights": ones(4, 17)},
         {"scores": ones(4, 64), "topk_idx": ones(4, 33, dtype=i64), "topk_weights": ones(4, 33),
          "grad_topk_weights": ones(4, 33)},
         {"scoring_func": "sigmoid"}, {"mask": mask(4)}, {"grad_scores_sum": ones(2, 16)},
         {**AUX, "mask": mask(3)}, {**AUX, "mask": ones(4)},
         {**AUX, "mask": steps(4, dtype=torch.bool)}, {**AUX, "grad_scores_sum": ones(3, 16)},
         {**AUX, "grad_scores_sum": ones(2, 15)}, {**AUX, "grad_scores_sum": gaps(2, 16)},
         {**AUX, "grad_scores_sum": ones(2, 16, dtype=f64)}, {**AUX, "grad_scores_sum": ones(16)},
         {**AUX, "grad_scores_sum": ones(0, 16)},
         {"out": ones(4, 15)}, {"out": ones(4, 16, dtype=f64)}, {"out": gaps(4, 16)},
         {"out": GRADIENT["scores"]}),
    Call(moe.normalize_weight, {"topk_weights": ones(4, 6)},
         {"topk_weights": ones(6)}, {"topk_weights": ones(4, 6, dtype=f64)},
         {"topk_weights": gaps(4, 6)}, {"topk_weights": steps(4, 6)},
         {"topk_weights": ones(4, 33)}),
    Call(moe.mask_indices_by_tp,
         {"indices": IDX, "n": 16, "num_ep_ranks": 8, "tp_rank": 1, "num_tp_ranks": 2},
         *({"indices": bad} for bad in OF_INDICES), {"indices": ones(4, 2, dtype=u8)},
         {"n": 7}, {"n": 0}, {"n": -16}, {"num_ep_ranks": 0}, {"num_ep_ranks": -8},
         {"num_tp_ranks": 0}, {"num_tp_ranks": -1}, {"tp_rank": -1}, {"tp_rank": 2}),
    Call(moe.inplace_unique_group_indices, {"group_indices": IDX, "num_groups": 8},
         *({"group_indices": bad} for bad in OF_INDICES), {"group_indices": ones(4, 2, dtype=i32)},
         {"num_groups": 129}, {"num_groups": -1}),
    Call(moe.group_count, {"group_idx": IDX, "num_groups": 8},
         *({"group_idx": bad} for bad in OF_INDICES), {"group_idx": ones(4, 2, dtype=i32)},
         {"num_groups": -1}),
    Call(moe.aux_fi, {"topk_idx": IDX, "num_experts": 8, "num_aux_topk": 2},
         *({"topk_idx": bad} for bad in OF_INDICES), {"topk_idx": ones(4, 2, dtype=i32)},
         {"num_aux_topk": 0}, {"num_aux_topk": -1}, {"num_experts": -1}),
    Call(moe.get_fused_mapping,
         {"topk_idx": IDX, "num_experts": 8, "num_expanded_tokens": 0, "alignment": 4},
         *({"topk_idx": bad} for bad in OF_INDICES), {"topk_idx": ones(4, 2, dtype=i32)},
         {"num_experts": 0}, {"num_experts": 1025}, {"num_experts": -1}, {"alignment": 0},
         {"alignment": -4}, {"num_expanded_tokens": -1}),
    Call(moe.expand_to_fused, {"x": ones(4, 64), **LAYOUT}, *OF_LAYOUTS,
         {"x": ones(64)}, {"x": ones(4, 0)}, {"x": ones(4, 64, dtype=f64)}, {"x": gaps(4, 64)},
         {"x": steps(4, 64)}, {"x": ones(4, 64, dtype=i64)}),
    Call(moe.expand_to_fused_with_sf,
         {"x": (ones(4, 64, dtype=f8), ones(4, 2)), "num_per_channels": 32, **LAYOUT}, *OF_LAYOUTS,
         {"x": (ones(64, dtype=f8), ones(4, 2))}, {"x": (gaps(4, 64, dtype=f8), ones(4, 2))},
         {"x": ones(4, 64)}, {"num_per_channels": 64}, {"num_per_channels": 0},
         {"x": (ones(4, 64, dtype=f8), ones(4, 3))}, {"x": (ones(4, 64, dtype=f8), ones(3, 2))},
         {"x": (ones(4, 64, dtype=f8), ones(2))}, {"x": (ones(4, 64, dtype=f8), gaps(4, 2))},
         {"x": (ones(4, 64, dtype=f8), ones(2, 4).T)},
         {"x": (ones(4, 64, dtype=f8), ones(4, 2, dtype=f16))},
         {"x": (ones(4, 64, dtype=f8), ones(4, 1, dtype=i32))}, name="expand_to_fused"),
    Call(moe.reduce_fused,
         {"x": ones(8, 256), "topk_weights": ones(4, 2),
          "token_topk_to_pos": LAYOUT["token_topk_to_pos"]},
         *OF_LAYOUTS[:3], {"x": ones(256)}, {"x": ones(8, 128)}, {"x": ones(8, 0)},
         {"x": ones(8, 256, dtype=f16)}, {"x": gaps(8, 256)}, {"x": steps(8, 256)},
         {"x": (ones(8, 256), ones(7))}, {"x": (ones(8, 256), ones(8, dtype=bf16))},
         {"x": (ones(8, 256), steps(8))}, {"x": (ones(8, 256), ones(8, 1))},
         {"topk_weights": ones(4, 3)}, {"topk_weights": ones(4, 2, dtype=bf16)},
         {"topk_weights": gaps(4, 2)}, {"fp8_format": "e5m2"}, {"fp8_format": "E4M3"},
         {"sf": ones(1)}, {"sf": ones(2), "fp8_format": "e4m3"},
         {"sf": ones(1, dtype=bf16), "fp8_format": "e4m3"}, {"out": ones(4, 128)},
         {"out": ones(4, 256, dtype=bf16)}, {"out": gaps(4, 256)},
         {"out": ones(4, 256), "fp8_format": "e4m3"}),
]  # fmt: skip

X, CODES = ones(128, 128), ones(128, 128, dtype=f8)
HALVES = ones(128, 64, dtype=i8)
PACK = {"round_sf": True, "use_packed_ue8m0": True}
COLUMNS = {"use_tma_aligned_col_major_sf": True}
OF_PLAIN = (
    {"x": ones(128)}, {"x": ones(2, 64, 64)}, {"x": ones(128, 128, dtype=f16)},
    {"x": ones(128, 128, dtype=f64)}, {"x": steps(128, 128)}, {"x": CODES}, {"x": HALVES},
)  # fmt: skip
OF_FORMATS = ({"fmt": "e5m2"}, {"fmt": "E4M3"}, {"fmt": "fp32"}, {"fmt": ""})
TOKEN = {"x": X, "fmt": "e4m3", "num_per_channels": 32}
OF_TOKENS = (
    *OF_FORMATS, {"x": ones(128, 96)}, {"num_per_channels": 48}, {"num_per_channels": 0},
    {"num_per_channels": -32}, {"num_per_channels": 256},
)  # fmt: skip
PAIR = {"x": (CODES, ones(128, 4)), "x_block_size": (1, 32)}
BLOCK = {"x": X, "fmt": "e4m3", "block_size": (32, 32)}
OF_BLOCKS = (
    *OF_FORMATS, *OF_PLAIN, {"x": ones(128, 96)}, {"block_size": (64, 32)},
    {"block_size": (32, 64)}, {"block_size": (1, 32)}, {"block_size": (0, 32)},
    {"x": (CODES, ones(4, 4))},
)  # fmt: skip
CHANNEL = {"x": X, "fmt": "e4m3", "num_per_tokens": 128}
OF_CHANNELS = (*OF_FORMATS, {"fmt": "e2m1"}, {"num_per_tokens": 64}, {"num_per_tokens": 0})
UNALIGNED = ones(128 * 128 + 8, dtype=f8)[8:].view(128, 128)

CASTS = [
    Call(quant.per_token_cast, TOKEN, *OF_PLAIN, *OF_TOKENS,
         {"x_block_size": (1, 32)}, {"x": PAIR["x"]}, {**PAIR, "x_block_size": (2, 32)},
         {**PAIR, "x_block_size": (1, 48)}, {**PAIR, "x_block_size": (1, 64)},
         {**PAIR, "x_block_size": (32, 32)}, {**PAIR, "x": (X, ones(128, 4))},
         {**PAIR, "x": (CODES.view(u8), ones(128, 4))},
         {**PAIR, "x": (CODES, ones(128, 4, dtype=f64))},
         {**PAIR, "x": (CODES, ones(4))}, {**PAIR, "x": (CODES, steps(128, 4))},
         {**PAIR, "x": (CODES, ones(127, 4))},
         {**PAIR, "x": (steps(128, 128, dtype=f8), ones(128, 4))},
         {"use_packed_ue8m0": True}, {"round_sf": True, "use_e4m3_sf": True},
         {**PACK, "use_e4m3_sf": True}, {"out": (None, ones(128, 3))},
         {"out": (None, ones(128, 4, dtype=f64))}, {"out": (None, gaps(128, 4)), **COLUMNS},
         {"out": (None, ones(128, 4)), **COLUMNS}, {"out": (None, ones(128, 4)), **PACK},
         {"out": (None, ones(128, 1, dtype=i32))}, {"out": (None, ones(128, 4, dtype=f8))},
         {"out": (None, ones(128, 4)), "use_e4m3_sf": True}, {"out": (ones(128, 128), None)},
         {"out": (ones(127, 128, dtype=f8), None)}, {"out": (HALVES, None)},
         {"out": (CODES, None), "fmt": "e2m1"}),
    Call(quant.per_token_cast_with_sf_only, TOKEN, *OF_PLAIN, *OF_TOKENS,
         {"x": PAIR["x"]}, {"x_block_size": (1, 32)}, {"use_packed_ue8m0": True},
         {"round_sf": True, "use_e4m3_sf": True}, {"out_sf": ones(128, 4), **COLUMNS},
         {"out_sf": ones(128, 3)}, {"out_sf": ones(128, 4, dtype=f64)},
         {"out_sf": ones(128, 4), **PACK}, {"out_sf": ones(128, 4), "use_e4m3_sf": True},
         {"out_sf": gaps(128, 4)}, name="per_token_cast"),
    Call(quant.per_token_cast_with_precomputed_sf, {**TOKEN, "sf": ones(128, 4)}, *OF_PLAIN,
         *OF_TOKENS, {"x": PAIR["x"]}, {"x_block_size": (1, 32)}, COLUMNS, PACK,
         {"use_packed_ue8m0": True}, {"round_sf": True, "use_e4m3_sf": True},
         {"use_e4m3_sf": True}, {"sf": ones(128, 4, dtype=f8)}, {"sf": ones(128, 3)},
         {"sf": ones(127, 4)}, {"sf": ones(4)}, {"sf": ones(128, 4, dtype=f64)},
         {"sf": ones(4, 128).T}, {"out": ones(128, 128)}, {"out": ones(127, 128, dtype=f8)},
         {"out": HALVES}, {"out": CODES, "fmt": "e2m1"}, name="per_token_cast"),
    Call(quant.per_block_cast, BLOCK, *OF_BLOCKS, {"use_packed_ue8m0": True},
         {"out": (None, ones(4, 4)), **COLUMNS}, {"out": (None, ones(4, 3))},
         {"out": (None, ones(4, 4, dtype=f64))}, {"out": (None, ones(4, 4)), **PACK},
         {"out": (None, gaps(4, 4))}, {"out": (ones(128, 128), None)},
         {"out": (ones(64, 128, dtype=f8), None)}, {"out": (HALVES, None)},
         {"out": (CODES, None), "fmt": "e2m1"}, {"out": (UNALIGNED, None)}),
    Call(quant.per_block_cast_with_sf_only, BLOCK, *OF_BLOCKS, {"use_packed_ue8m0": True},
         {"out_sf": ones(4, 4), **COLUMNS}, {"out_sf": ones(4, 3)}, {"out_sf": ones(4, 4), **PACK},
         {"out_sf": ones(4, 4, dtype=f64)}, {"out_sf": gaps(4, 4)}, name="per_block_cast"),
    Call(quant.per_block_cast_with_precomputed_sf, {**BLOCK, "sf": ones(4, 4)}, *OF_BLOCKS,
         COLUMNS, PACK, {"use_packed_ue8m0": True}, {"sf": ones(4, 3)},
         {"sf": ones(4, 4, dtype=f8)}, {"sf": ones(4, 1, dtype=i32)}, {"sf": ones(4)},
         {"sf": ones(4, 4).T.contiguous().T}, {"out": ones(128, 128)}, {"out": UNALIGNED},
         {"out": HALVES}, {"out": CODES, "fmt": "e2m1"}, name="per_block_cast"),
    Call(quant.per_channel_cast, CHANNEL, *OF_PLAIN, *OF_CHANNELS,
         {"x": ones(96, 128)}, {"x": ones(128, 96)}, {"num_per_channels": 32},
         {"use_packed_ue8m0": True}, {"x": PAIR["x"]}, {"x": PAIR["x"], "num_per_channels": 64},
         {"x": PAIR["x"], "num_per_channels": 128},
         {"x": (HALVES, ones(128, 4)), "num_per_channels": 32},
         {"x": (CODES, ones(127, 4)), "num_per_channels": 32},
         {"x": (CODES, ones(128, 4, dtype=f64)), "num_per_channels": 32}),
    Call(quant.per_channel_cast_fused, CHANNEL, *OF_PLAIN, *OF_CHANNELS, {"num_per_tokens": 32},
         {"x": ones(112, 128)}, {"x": ones(128, 96)}, {"num_per_channels": 128},
         {"x": (CODES, ones(128, 1))}, {"x": PAIR["x"], "num_per_channels": 32},
         {"x": (CODES, ones(128, 2)), "num_per_channels": 128},
         {"x": (CODES, ones(128, 1, dtype=i32)), "num_per_channels": 128},
         {"x": (HALVES, ones(128, 1)), "num_per_channels": 128},
         {"pos_to_token": ones(8, dtype=i32)}, {"pos_to_token": ones(16, dtype=i64)},
         {"pos_to_token": ones(16, 1, dtype=i32)}, {"pos_to_token": steps(16, dtype=i32)},
         name="per_channel_cast"),
    Call(quant.per_channel_cast_and_transpose, {**CHANNEL, "x": ones(128, 128, dtype=bf16)},
         *OF_PLAIN, *OF_CHANNELS, {"x": X}, {"x": ones(64, 128, dtype=bf16)},
         {"x": ones(128, 96, dtype=bf16)}, {"num_per_tokens": 16}),
    Call(quant.per_block_cast_lossless,
         {"x": (HALVES, ones(128, 4)), "fmt": "e4m3", "x_block_size": (1, 32),
          "out_block_size": (32, 32)},
         *OF_FORMATS, {"fmt": "e2m1"}, {"x": HALVES}, {"x": (CODES, ones(128, 4))},
         {"x": (HALVES[0], ones(128, 4))}, {"x": (ones(128, 40, dtype=i8), ones(128, 3))},
         {"x": (HALVES, ones(128, 3))}, {"x": (HALVES, ones(4))},
         {"x": (HALVES, ones(128, 4, dtype=f8))}, {"x": (HALVES, ones(128, 4, dtype=f64))},
         {"x_block_size": (3, 32)}, {"x_block_size": (1, 24)}, {"x_block_size": (0, 32)},
         {"out_block_size": (1, 16)}, {"out_block_size": (1, 48)}, {"out_block_size": (32, 96)},
         {"x_block_size": (2, 32), "out_block_size": (3, 32)}, {"use_packed_ue8m0": True}),
    Call(quant.cast_back, {"x": (CODES, ones(128, 4)), "fmt": "bf16", "x_block_size": (1, 32)},
         {"fmt": "fp16"}, {"fmt": "f32"}, {"x": CODES}, {"x": (X, ones(128, 4))},
         {"x": (CODES[0], ones(128, 4))}, {"x": (ones(128, 96, dtype=f8), ones(128, 3))},
         {"x": (CODES, ones(128, 3))}, {"x": (CODES, ones(4))}, {"x": (CODES, ones(127, 4))},
         {"x": (CODES, ones(128, 4, dtype=f64))}, {"x": (CODES, steps(128, 4))},
         {"x_block_size": (1, 0)}, {"x_block_size": (1, -32)}, {"x_block_size": (0, 32)},
         {"x_block_size": (1, 64)}, {"x_special_fmt": "e3m2"}, {"x_special_fmt": ""},
         {"x": (CODES, ones(128, 4).T.contiguous().T), "x_block_size": (32, 1)},
         {"x": (CODES, ones(128, 1).as_strided((1, 128), (1, 1))), "x_block_size": (64, 1)}),
    Call(quant.per_token_cast_back, {"x": (CODES, ones(128, 4)), "fmt": "bf16",
                                     "num_per_channels": 32},
         {"fmt": "fp16"}, {"num_per_channels": 64}, {"num_per_channels": 0}, {"x": CODES},
         {"x_special_fmt": "e3m2"}, name="cast_back"),
    Call(quant.per_token_cast_and_cast_back, TOKEN, *OF_PLAIN, *OF_FORMATS, {"fmt": "e5m6"},
         {"num_per_channels": 8}, {"num_per_channels": 48}, {"x": ones(128, 96)},
         {"x": ones(128, 192), "num_per_channels": 128}, {"round_sf": True, "use_e4m3_sf": True},
         {"x": PAIR["x"]}, {"num_per_channels": 0}),
    Call(quant.cast, {"x": X, "dtype": bf16}, {"x": gaps(4, 8)}, {"x": steps(4, 8)}, {"x": X.T[:5]},
         {"x": ones(4, dtype=f64)}, {"x": ones(4, dtype=i32)}, {"dtype": f64}, {"dtype": i8},
         {"x": ones(6), "stochastic_rounding": True}, {"dtype": f16, "stochastic_rounding": True},
         {"x": ones(4, dtype=bf16), "stochastic_rounding": True},
         {"x": gaps(4, 8), "stochastic_rounding": True}),
    Call(per_token_cast_to_e5m6, {"x": X, "num_per_channels": 128}, *OF_PLAIN,
         {"num_per_channels": 64}, {"num_per_channels": 0}, {"num_per_channels": 256},
         {"x": ones(128, 12), "num_per_channels": 12}, {"x": PAIR["x"]},
         {"use_packed_ue8m0": True}, {"use_packed_ue8m0": True, **COLUMNS}),
    Call(quant.per_token_cast, {**TOKEN, "fmt": "e5m6", "num_per_channels": 128}, *OF_PLAIN,
         {"num_per_channels": 64}, PAIR, {"x": PAIR["x"]}, {"x_block_size": (1, 32)},
         {"use_packed_ue8m0": True}, {"use_e4m3_sf": True}, {"stochastic_cast": True},
         {"round_sf": True, "use_e4m3_sf": True}, {"out": (CODES, None)},
         {"out": (ones(128, 191, dtype=u8), None)}, {"out": (None, ones(128, 2))},
         {"out": (None, ones(128, 1, dtype=i32))}, {"out": (None, ones(128, 1)), **PACK},
         name="per_token_cast"),
    Call(quant.per_token_cast_with_sf_only, TOKEN, {"fmt": "e5m6", "num_per_channels": 128}),
    Call(quant.per_token_cast_with_precomputed_sf, {**TOKEN, "sf": ones(128, 4)},
         {"fmt": "e5m6", "num_per_channels": 128, "sf": ones(128, 1)}),
    Call(cast_back_e5m6, {"x": (ones(128, 96, dtype=u8), ones(128, 1)), "fmt": "bf16",
                          "x_block_size": (1, 64)},
         {"fmt": "fp16"}, {"x": ones(128, 96, dtype=u8)},
         {"x": (ones(128, 96, dtype=i8), ones(128, 1))}, {"x": (CODES, ones(128, 1))},
         {"x": (ones(96, dtype=u8), ones(128, 1))}, {"x": (ones(128, 92, dtype=u8), ones(128, 1))},
         {"x": (gaps(128, 96, dtype=u8), ones(128, 1))},
         {"x": (ones(128, 96, dtype=u8), ones(128, 2))},
         {"x": (ones(128, 96, dtype=u8), ones(127, 1))},
         {"x": (ones(128, 96, dtype=u8), ones(128))},
         {"x": (ones(128, 96, dtype=u8), ones(128, 1, dtype=f64))}, {"x_block_size": (1, 0)},
         {"x_block_size": (0, 64)}, {"x_block_size": (1, -64)}, name="cast_back"),
    Call(quant.batched_transpose_weight_sf,
         {"sf": [ones(4, 4), ones(2, 8, 4)], "block_size": 32, "transpose_sf1s": [False, True],
          "outs": [None, None]},
         {"block_size": 64}, {"block_size": 0}, {"transpose_sf1s": [False]}, {"outs": [None]},
         {"sf": [ones(4, 4)]}, {"sf": [ones(4, 4), ones(4)]},
         {"sf": [ones(4, 4), ones(1, 2, 4, 4)]},
         {"sf": [ones(4, 4), ones(4, 4, dtype=f64)]}, {"sf": [ones(4, 4), gaps(4, 4)]},
         {"sf": [ones(4, 4), ones(0, 4, 4)]}, {"sf": [ones(4, 4), ones(3, 4)]},
         {"sf": [ones(4, 4), ones(4, 6)]}, {"outs": [(ones(4, 4), ones(4, 4)), None]},
         {"outs": [None, (ones(2, 256, 1, dtype=i32), ones(2, 2, 128, dtype=i32))]},
         {"outs": [(ones(128, 1, dtype=i32), None), None]},
         {"outs": [(ones(128, 1, dtype=i32), ones(1, 128, dtype=i32).T), None]},
         {"outs": [(ones(1, 128, dtype=i32).T, ones(128, 1, dtype=i32)), None]},
         {"outs": [(ones(1, 128).T, ones(1, 128, dtype=i32).T), None]},
         {"outs": [(ones(129, dtype=i32)[1:].view(1, 128).T, ones(1, 128, dtype=i32).T), None]},
         name="transpose_weight_sf"),
]  # fmt: skip

ROTARY = Call(
    apply_rotary,
    {"query": ones(6, 2, 64), "cos_sin_cache": ones(20, 64), "key": ones(6, 1, 64),
     "positions": ones(6, dtype=i64)},
    {"query": ones(6, 64)}, {"query": ones(1, 1, 6, 2, 64)}, {"query": ones(6, 2, 64, dtype=f64)},
    {"query": ones(6, 2, 64, dtype=i32)}, {"query": steps(6, 2, 64)}, {"query": ones(6, 2, 128)},
    {"query": ones(6, 2, 32), "key": None, "cos_sin_cache": ones(20, 32)},
    {"query": ones(6, 2, 96), "key": None, "cos_sin_cache": ones(20, 96)},
    {"cos_sin_cache": ones(20, 64, dtype=bf16)}, {"cos_sin_cache": ones(20, 32)},
    {"cos_sin_cache": ones(64)}, {"cos_sin_cache": steps(20, 64)}, {"key": ones(6, 1, 128)},
    {"key": ones(6, 1, 64, dtype=bf16)}, {"key": ones(1, 6, 1, 64)}, {"key": ones(7, 1, 64)},
    {"key": steps(6, 1, 64)}, {"positions": ones(5, dtype=i64)}, {"positions": ones(6)},
    {"positions": ones(6, 1, dtype=i64)}, {"positions": steps(6, dtype=i64)},
    {"positions": ones(6, dtype=torch.int16)}, {"seqlen_offset": 0.5}, {"seqlen_offset": "1"},
    {"seqlen_offset": None}, {"seqlen_offset": torch.tensor(1)},
)  # fmt: skip


def tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    parts = value if isinstance(value, (tuple, list)) else []
    return [t for part in parts for t in tensors(part)]


def whole(t: torch.Tensor) -> torch.Tensor:
    """All bytes of the memory that the tensor lies in."""
    storage = t.untyped_storage()
    return torch.empty(0, dtype=u8, device=t.device).set_(storage)


CASES = [
    pytest.param(call, change, id=f"{call.function.__name__}-{i}")
    for call in [*EXPERTS, *CASTS, ROTARY]
    for i, change in enumerate(call.bad)
]


@pytest.mark.parametrize("call", [*EXPERTS, *CASTS, ROTARY], ids=lambda c: c.function.__name__)
def test_what_fits(call: Call) -> None:
    """Or else what is changed would not be what is refused."""
    call.function(**{k: v.clone() if isinstance(v, torch.Tensor) else v
                     for k, v in call.good.items()})  # fmt: skip


@pytest.mark.parametrize(("call", "change"), CASES)
def test_what_does_not_fit(call: Call, change: dict[str, Any]) -> None:
    arguments = {**call.good, **change}
    given = [t for value in arguments.values() for t in tensors(value)]
    before = [whole(t).clone() for t in given]
    with pytest.raises(AssertionError) as error:
        call.function(**arguments)
    says = str(error.value)
    assert call.name in says and len(says) > len(call.name) + 12
    for t, bytes_before in zip(given, before, strict=True):
        assert torch.equal(whole(t), bytes_before)


def cut(value: Any, tokens: int) -> Any:
    """Without tokens, or blocks of 32 of them."""
    if isinstance(value, tuple):
        return tuple(cut(part, tokens) for part in value)
    lengths = (tokens, tokens // 32)
    of_tokens = isinstance(value, torch.Tensor) and value.shape[:1] and value.shape[0] in lengths
    return value[:0] if of_tokens else value


WITHOUT_TOKENS = [
    pytest.param(call, change, tokens, id=f"{call.function.__name__}-{i}")
    for calls, tokens in ((EXPERTS, 4), (CASTS, 128))
    for call in calls
    for i, change in enumerate(call.bad)
    if not any(tensors(value) for value in change.values())
]


@pytest.mark.parametrize(("call", "change", "tokens"), WITHOUT_TOKENS)
def test_what_does_not_fit_without_tokens(call: Call, change: dict[str, Any], tokens: int) -> None:
    good = {name: cut(value, tokens) for name, value in call.good.items()}
    call.function(**good)
    with pytest.raises(AssertionError, match=call.name):
        call.function(**{**good, **change})
