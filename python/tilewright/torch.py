"""The library as operators of torch: `torch.ops.tilewright.rms_norm(x, w, 1e-6)`, and so on.

Importing this module registers them, for tensors on the CPU and on NVIDIA GPUs, with what
`torch.compile` needs to know of their results; so a graph goes through them without a break. They
run on the current stream and can be part of a CUDA graph. They compute what the functions of
`tilewright` of the same names do, and have no gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial

import torch

import tilewright as tw
from tilewright import moe, rand, transform

__all__ = ["operators", "randn"]

_library = torch.library.Library("tilewright", "DEF")
_names: list[str] = []
_NAMES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float8_e4m3fn: "e4m3",
    torch.float8_e5m2: "e5m2",
}


def operators() -> list[str]:
    """Names of the operators in `torch.ops.tilewright`."""
    return sorted(_names)


def _define(schema: str, run: Callable, fake: Callable) -> None:
    """An operator. `fake` gives results of the right shape and dtype without values."""
    name = schema[: schema.index("(")]
    _library.define(schema)
    for device in ("CPU", "CUDA"):
        _library.impl(name, run, device)
    torch.library.register_fake(f"tilewright::{name}", fake, lib=_library)
    _names.append(name)


def _like(x: torch.Tensor, *_: object) -> torch.Tensor:
    return x.new_empty(x.shape)


def _rows(x: torch.Tensor, *_: object) -> torch.Tensor:
    return x.new_empty(x.shape[0])


def _two_like(x: torch.Tensor, *_: object) -> tuple[torch.Tensor, torch.Tensor]:
    return x.new_empty(x.shape), x.new_empty(x.shape)


# ---- elementwise ----
for _name in ("relu", "gelu", "gelu_tanh", "silu", "sigmoid", "copy"):
    _define(f"{_name}(Tensor x) -> Tensor", getattr(tw, _name), _like)
_define("silu_mul(Tensor gate, Tensor x) -> Tensor", tw.silu_mul, _like)


def _broadcast(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.new_empty(torch.broadcast_shapes(a.shape, b.shape))


for _name in ("add", "mul", "add_relu"):
    _define(f"{_name}(Tensor a, Tensor b) -> Tensor", getattr(tw, _name), _broadcast)
_define(
    "silu_and_mul(Tensor x) -> Tensor",
    tw.silu_and_mul,
    lambda x: x.new_empty((*x.shape[:-1], x.shape[-1] // 2)),
)
_define(
    "cast(Tensor x, ScalarType to) -> Tensor",
    lambda x, to: tw.cast(x, _NAMES[to]),
    lambda x, to: x.new_empty(x.shape, dtype=to),
)

# ---- norms ----
_define("softmax(Tensor x, float scale=1.0) -> Tensor", tw.softmax, _like)
_define("rms_norm(Tensor x, Tensor w, float eps=1e-06) -> Tensor", tw.rms_norm, _like)
_define("layer_norm(Tensor x, Tensor w, Tensor b, float eps=1e-05) -> Tensor", tw.layer_norm, _like)
_define(
    "residual_rms_norm(Tensor x, Tensor residual, Tensor w, float eps=1e-06) -> (Tensor, Tensor)",
    tw.residual_rms_norm,
    _two_like,
)
_define(
    "residual_layer_norm(Tensor x, Tensor residual, Tensor w, Tensor b, float eps=1e-05)"
    " -> (Tensor, Tensor)",
    tw.residual_layer_norm,
    _two_like,
)

# ---- rows ----
_define("sum(Tensor x) -> Tensor", tw.sum, _rows)
_define(
    "max(Tensor x, bool propagate_nan=False) -> Tensor",
    lambda x, propagate_nan=False: tw.max(x, propagate_nan=propagate_nan),
    _rows,
)
_define(
    "argmax(Tensor x) -> Tensor",
    tw.argmax,
    lambda x: x.new_empty(x.shape[0], dtype=torch.int64),
)
_define("cumsum(Tensor x) -> Tensor", tw.cumsum, _like)
_define(
    "top_k(Tensor x, int k) -> (Tensor, Tensor)",
    tw.top_k,
    lambda x, k: (
        x.new_empty((x.shape[0], k)),
        x.new_empty((x.shape[0], k), dtype=torch.int64),
    ),
)
_define(
    "transpose(Tensor x) -> Tensor",
    tw.transpose,
    lambda x: x.new_empty((*x.shape[:-2], x.shape[-1], x.shape[-2])),
)
_define(
    "gather_rows(Tensor table, Tensor index) -> Tensor",
    tw.gather_rows,
    lambda table, index: table.new_empty((index.shape[0], table.shape[1])),
)


def _scatter_add_rows(x: torch.Tensor, index: torch.Tensor, out: torch.Tensor) -> None:
    tw.scatter_add_rows(x, index, out=out)


_define(
    "scatter_add_rows(Tensor x, Tensor index, Tensor(a!) out) -> ()",
    _scatter_add_rows,
    lambda x, index, out: None,
)


# ---- quantisation ----
def _codes(x: torch.Tensor, fmt: str) -> torch.Tensor:
    m, k = x.shape
    if fmt == "e2m1":
        return x.new_empty((m, k // 2), dtype=torch.int8)
    if fmt == "e5m6":
        return x.new_empty((m, k // 2 * 3), dtype=torch.uint8)
    return x.new_empty((m, k), dtype=torch.float8_e4m3fn)


def _factors(
    x: torch.Tensor,
    block: tuple[int, int],
    use_tma_aligned_col_major_sf: bool = False,
    round_sf: bool = False,
    use_packed_ue8m0: bool = False,
    use_e4m3_sf: bool = False,
) -> torch.Tensor:
    m, n = -(-x.shape[0] // block[0]), -(-x.shape[1] // block[1])
    dtype, step = torch.float32, 4
    if use_packed_ue8m0:
        dtype, n = torch.int32, -(-n // 4)
    elif use_e4m3_sf:
        dtype, step = torch.float8_e4m3fn, 16
    if not use_tma_aligned_col_major_sf:
        return x.new_empty((m, n), dtype=dtype)
    return x.new_empty_strided((m, n), (1, -(-m // step) * step), dtype=dtype)


_define(
    "per_token_cast(Tensor x, str fmt, int num_per_channels, "
    "bool use_tma_aligned_col_major_sf=False, bool round_sf=False, bool use_packed_ue8m0=False, "
    "bool use_e4m3_sf=False, bool stochastic_cast=False) -> (Tensor, Tensor)",
    lambda x, fmt, group, *flags: tw.per_token_cast(x, fmt, group, None, *flags),
    lambda x, fmt, group, *flags: (_codes(x, fmt), _factors(x, (1, group), *flags[:4])),
)
_define(
    "stochastic_cast(Tensor x, ScalarType to) -> Tensor",
    lambda x, to: tw.quant.stochastic_cast(x, _NAMES[to]),
    lambda x, to: x.new_empty(x.shape, dtype=to),
)
_define(
    "per_block_cast(Tensor x, str fmt, int block_rows, int block_columns, "
    "bool use_tma_aligned_col_major_sf=False, bool round_sf=False, bool use_packed_ue8m0=False)"
    " -> (Tensor, Tensor)",
    lambda x, fmt, rows, columns, *flags: tw.per_block_cast(x, fmt, (rows, columns), *flags),
    lambda x, fmt, rows, columns, *flags: (_codes(x, fmt), _factors(x, (rows, columns), *flags)),
)


def _channel_factors(m: int, x: torch.Tensor, rows: int, packed: bool = False) -> torch.Tensor:
    blocks = -(-m // rows)
    if packed:
        return x.new_empty((-(-blocks // 4), x.shape[1]), dtype=torch.int32)
    return x.new_empty((blocks, x.shape[1]), dtype=torch.float32)


def _gathered(
    x: torch.Tensor,
    sf: torch.Tensor | None,
    fmt: str,
    num_per_tokens: int,
    round_sf: bool = False,
    num_per_channels: int | None = None,
    pos_to_token: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    m = x.shape[0] if pos_to_token is None else pos_to_token.shape[0]
    q = x.new_empty((m, x.shape[1]), dtype=torch.float8_e4m3fn)
    return q, _channel_factors(m, x, num_per_tokens)


def _pair(x: torch.Tensor, sf: torch.Tensor | None) -> torch.Tensor | tuple:
    return x if sf is None else (x, sf)


_define(
    "per_channel_cast(Tensor x, Tensor? sf, str fmt, int num_per_tokens, bool round_sf=False, "
    "int? num_per_channels=None, bool use_packed_ue8m0=False) -> (Tensor, Tensor)",
    lambda x, sf, *options: tw.quant.per_channel_cast(_pair(x, sf), *options),
    lambda x, sf, fmt, rows, round_sf=False, columns=None, packed=False: (
        _codes(x, fmt),
        _channel_factors(x.shape[0], x, rows, packed),
    ),
)
_define(
    "per_channel_cast_fused(Tensor x, Tensor? sf, str fmt, int num_per_tokens, "
    "bool round_sf=False, int? num_per_channels=None, Tensor? pos_to_token=None)"
    " -> (Tensor, Tensor)",
    lambda x, sf, *options: tw.quant.per_channel_cast_fused(_pair(x, sf), *options),
    _gathered,
)
_define(
    "per_channel_cast_and_transpose(Tensor x, str fmt, int num_per_tokens, bool round_sf=False)"
    " -> (Tensor, Tensor)",
    tw.quant.per_channel_cast_and_transpose,
    lambda x, fmt, rows, round_sf=False: (
        _codes(x.T, fmt),
        _channel_factors(x.shape[0], x, rows),
    ),
)
_define(
    "per_block_cast_lossless(Tensor x, Tensor sf, str fmt, int[] x_block, int[] out_block, "
    "bool use_tma_aligned_col_major_sf=False, bool round_sf=False, bool use_packed_ue8m0=False)"
    " -> (Tensor, Tensor)",
    lambda x, sf, fmt, x_block, out_block, *flags: tw.quant.per_block_cast_lossless(
        (x, sf), fmt, tuple(x_block), tuple(out_block), *flags
    ),
    lambda x, sf, fmt, x_block, out_block, *flags: (
        x.new_empty((x.shape[0], 2 * x.shape[1]), dtype=torch.float8_e4m3fn),
        _factors(x.new_empty((x.shape[0], 2 * x.shape[1])), out_block, *flags),
    ),
)


def _weight_sf(
    sf: list[torch.Tensor], block_size: int, transpose_sf1s: list[bool]
) -> list[torch.Tensor]:
    pairs = tw.quant.batched_transpose_weight_sf(sf, block_size, transpose_sf1s, [None] * len(sf))
    return [words for pair in pairs for words in pair]


def _fake_weight_sf(
    sf: list[torch.Tensor], block_size: int, transpose_sf1s: list[bool]
) -> list[torch.Tensor]:
    results = []
    for factors, turned in zip(sf, transpose_sf1s, strict=True):
        *count, n, k = factors.shape
        sf0 = factors.new_empty((*count, -(-k // 4), n * block_size), dtype=torch.int32)
        sf1 = factors.new_empty((*count, -(-n // 4), k * block_size), dtype=torch.int32)
        results += [sf0.mT, sf1 if turned else sf1.mT]
    return results


_define(
    "batched_transpose_weight_sf(Tensor[] sf, int block_size, bool[] transpose_sf1s) -> Tensor[]",
    _weight_sf,
    _fake_weight_sf,
)
_FLOATS = {"fp32": torch.float32, "bf16": torch.bfloat16}


def _values(q: torch.Tensor, sf: torch.Tensor, fmt: str, *_: object) -> torch.Tensor:
    packed = q.dtype == torch.int8
    return q.new_empty((q.shape[0], q.shape[1] * (1 + packed)), dtype=_FLOATS[fmt])


_define(
    "cast_back(Tensor q, Tensor sf, str fmt, int block_rows, int block_columns) -> Tensor",
    lambda q, sf, fmt, rows, columns: tw.quant.cast_back((q, sf), fmt, (rows, columns)),
    _values,
)
_define(
    "per_token_cast_back(Tensor q, Tensor sf, str fmt, int num_per_channels) -> Tensor",
    lambda q, sf, fmt, group: tw.quant.per_token_cast_back((q, sf), fmt, group),
    _values,
)
_define(
    "cast_back_e5m6(Tensor q, Tensor sf, str fmt, int block_rows, int block_columns) -> Tensor",
    lambda q, sf, fmt, rows, columns: tw.quant.cast_back_e5m6((q, sf), fmt, (rows, columns)),
    lambda q, sf, fmt, *_: q.new_empty((q.shape[0], q.shape[1] // 3 * 2), dtype=_FLOATS[fmt]),
)
_define(
    "per_token_cast_and_cast_back(Tensor(a!) x, str fmt, int num_per_channels, "
    "bool round_sf=False, bool use_e4m3_sf=False) -> ()",
    tw.quant.per_token_cast_and_cast_back,
    lambda x, *_: None,
)


# ---- transforms ----
_define(
    "apply_rotary(Tensor(a!) query, Tensor cos_sin_cache, Tensor(b!)? key=None, "
    "Tensor? positions=None, bool interleaved=False, bool conjugate=False, "
    "SymInt seqlen_offset=0) -> ()",
    transform.apply_rotary,
    lambda *_arguments, **_options: None,
)


# ---- random numbers ----
def _fill(out: torch.Tensor, seed: int, offset: int = 0, most_groups: int = 1056) -> None:
    rand.randn(out, seed % 2**64, offset, most_groups)


_define(
    "randn(Tensor(a!) out, int seed, int offset=0, int most_groups=1056) -> ()",
    _fill,
    lambda *_arguments: None,
)


def _fill_with_normals(out: torch.Tensor, seed: int, subsequence: int = 0) -> None:
    rand.standard_normal(out, seed % 2**64, subsequence % 2**64)


_define(
    "standard_normal(Tensor(a!) out, int seed, int subsequence=0) -> ()",
    _fill_with_normals,
    lambda *_arguments: None,
)


def _groups(device: torch.device) -> int:
    """Of 256 streams, as many as torch has at most."""
    properties = torch.cuda.get_device_properties(device)
    return properties.multi_processor_count * (properties.max_threads_per_multi_processor // 256)


@cache
def _are_those_of_torch(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether this release of torch numbers its normals as tilewright does: it promises nothing.

    Asked for a dtype at a time, so that no kernel is compiled that the caller doesn't need."""
    groups = _groups(device)
    generator = torch.Generator(device).manual_seed(1)
    for size in (1000, 1024 * groups + 1000):
        offset = generator.get_offset()
        wanted = torch.randn(size, dtype=dtype, device=device, generator=generator)
        found = rand.randn(torch.empty_like(wanted), 1, offset, groups)
        if generator.get_offset() != offset + rand.randn_words(size, groups):
            return False
        if not torch.equal(found, wanted):
            return False
    return True


def randn(
    *size: int,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """`torch.randn`, bit for bit, and leaves the generator as that does.

    Large ones on an NVIDIA GPU are made by tilewright, in two thirds of the time or less. What it
    can't make is left to torch: other dtypes and devices, graphs and compiled functions, 2 GiB and
    more, and all where a release of torch has other numbers.
    """
    where = torch.get_default_device() if device is None else torch.device(device)
    kind = torch.get_default_dtype() if dtype is None else dtype
    shape = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    count = math.prod(shape)
    ours = (
        where.type == "cuda"
        and kind in (torch.float32, torch.bfloat16, torch.float16)
        and 2**16 <= count < 2**31 // kind.itemsize
        and not torch.compiler.is_compiling()
        and not torch.cuda.is_current_stream_capturing()
    )
    if ours:
        index = torch.cuda.current_device() if where.index is None else where.index
        where = torch.device("cuda", index)
        ours = _are_those_of_torch(where, kind)
    if not ours:
        return torch.randn(shape, dtype=dtype, device=device, generator=generator)
    state = torch.cuda.default_generators[where.index] if generator is None else generator
    out = torch.empty(shape, dtype=kind, device=where)
    groups, offset = _groups(where), state.get_offset()
    rand.randn(out, state.initial_seed() % 2**64, offset, groups)
    state.set_offset(offset + rand.randn_words(count, groups))
    return out


# ---- mixture of experts ----
_define(
    "topk_gate(Tensor scores, int num_topk) -> Tensor",
    moe.topk_gate,
    lambda scores, k: scores.new_empty((scores.shape[0], k), dtype=torch.int64),
)
_define(
    "topk_sum_and_topk_group_idx(Tensor scores, int num_topk_sum, int num_topk_groups) -> Tensor",
    moe.topk_sum_and_topk_group_idx,
    lambda scores, _, k: scores.new_empty((scores.shape[0], k), dtype=torch.int64),
)
_define(
    "normalize_weight(Tensor topk_weights) -> (Tensor, Tensor)",
    moe.normalize_weight,
    lambda w: (w.new_empty(w.shape[0]), w.new_empty(w.shape)),
)


def _gate(
    logits: torch.Tensor,
    num_topk: int,
    use_shared_as_routed: bool,
    num_shared_experts: int,
    routed_scaling_factor: float,
    ep_rank: int,
    scoring_func: str = "sqrtsoftplus",
    mask: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    image_bias: torch.Tensor | None = None,
    image_token_mask: torch.Tensor | None = None,
    fix_routing_mask: torch.Tensor | None = None,
    to_physical_map: torch.Tensor | None = None,
    logical_count: torch.Tensor | None = None,
    unmapped_topk_idx: torch.Tensor | None = None,
    force_random: torch.Tensor | None = None,
) -> tuple[torch.Tensor, ...]:
    if unmapped_topk_idx is not None:
        unmapped = unmapped_topk_idx.clone(memory_format=torch.contiguous_format)
    elif fix_routing_mask is not None:
        raise ValueError("moe_topk_gate_forward: fix_routing_mask needs unmapped_topk_idx")
    else:
        unmapped = logits.new_empty((logits.shape[0], num_topk), dtype=torch.int64)
    scores = torch.empty_like(logits)
    topk_idx, topk_weights = moe.moe_topk_gate_forward(
        *(logits, num_topk, use_shared_as_routed, num_shared_experts, routed_scaling_factor),
        *(ep_rank, scoring_func, mask, bias, image_bias, image_token_mask, fix_routing_mask),
        *(to_physical_map, logical_count, unmapped, force_random, None, scores),
    )
    return topk_idx, topk_weights, unmapped, scores


def _fake_gate(
    logits: torch.Tensor,
    num_topk: int,
    use_shared_as_routed: bool,
    num_shared_experts: int,
    *_: object,
) -> tuple[torch.Tensor, ...]:
    tokens, slots = logits.shape[0], num_topk + use_shared_as_routed * num_shared_experts
    return (
        logits.new_empty((tokens, slots), dtype=torch.int64),
        logits.new_empty((tokens, slots)),
        logits.new_empty((tokens, num_topk), dtype=torch.int64),
        logits.new_empty(logits.shape),
    )


# Of this operator unmapped_topk_idx and scores are results: (topk_idx, topk_weights,
# unmapped_topk_idx, scores).
_define(
    "moe_topk_gate_forward(Tensor logits, int num_topk, bool use_shared_as_routed, "
    "int num_shared_experts, float routed_scaling_factor, int ep_rank, "
    "str scoring_func='sqrtsoftplus', Tensor? mask=None, Tensor? bias=None, "
    "Tensor? image_bias=None, Tensor? image_token_mask=None, Tensor? fix_routing_mask=None, "
    "Tensor? to_physical_map=None, Tensor? logical_count=None, Tensor? unmapped_topk_idx=None, "
    "Tensor? force_random=None) -> (Tensor, Tensor, Tensor, Tensor)",
    _gate,
    _fake_gate,
)
_define(
    "moe_topk_gate_backward(Tensor scores, Tensor topk_idx, Tensor topk_weights, "
    "Tensor grad_topk_weights, float routed_scaling_factor, str scoring_func='sqrtsoftplus', "
    "Tensor? mask=None, Tensor? grad_scores_sum=None) -> Tensor",
    moe.moe_topk_gate_backward,
    _like,
)
_define(
    "mask_indices_by_tp(Tensor indices, int n, int num_ep_ranks, int tp_rank, int num_tp_ranks)"
    " -> Tensor",
    moe.mask_indices_by_tp,
    _like,
)
_define(
    "inplace_unique_group_indices(Tensor(a!) group_indices, int num_groups) -> ()",
    moe.inplace_unique_group_indices,
    lambda group_indices, num_groups: None,
)
_define(
    "group_count(Tensor group_idx, int num_groups) -> Tensor",
    moe.group_count,
    lambda group_idx, num_groups: group_idx.new_empty(num_groups, dtype=torch.int32),
)
_define(
    "aux_fi(Tensor topk_idx, int num_experts, int num_aux_topk) -> Tensor",
    moe.aux_fi,
    lambda topk_idx, num_experts, num_aux_topk: topk_idx.new_empty(
        num_experts, dtype=torch.float32
    ),
)


def _mapping(
    topk_idx: torch.Tensor, num_experts: int, num_expanded_tokens: int, alignment: int
) -> tuple[torch.Tensor, ...]:
    shapes = 3 * [(num_expanded_tokens,)] + [topk_idx.shape] + 3 * [(num_experts,)]
    return tuple(topk_idx.new_empty(shape, dtype=torch.int32) for shape in shapes)


_define(
    "get_fused_mapping(Tensor topk_idx, int num_experts, SymInt num_expanded_tokens, int alignment)"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    lambda *arguments: moe.get_fused_mapping(*arguments, force_no_sync=True)[:7],
    _mapping,
)


def _expanded_with_sf(
    x: torch.Tensor,
    sf: torch.Tensor,
    num_per_channels: int,
    token_topk_to_pos: torch.Tensor,
    pos_to_expert: torch.Tensor,
    use_tma_aligned_col_major_sf: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    np, n = pos_to_expert.shape[0], sf.shape[1]
    strides = (1, -(-np // 4) * 4) if use_tma_aligned_col_major_sf else (n, 1)
    return x.new_empty((np, x.shape[1])), sf.new_empty_strided((np, n), strides)


def _reduce_fused(
    x: torch.Tensor,
    topk_weights: torch.Tensor | None,
    token_topk_to_pos: torch.Tensor,
    fp8_format: str = "",
    sf: torch.Tensor | None = None,
    x_sf: torch.Tensor | None = None,
) -> torch.Tensor:
    rows = x if x_sf is None else (x, x_sf)
    return moe.reduce_fused(rows, topk_weights, token_topk_to_pos, fp8_format, sf)


_define(
    "expand_to_fused(Tensor x, Tensor token_topk_to_pos, Tensor pos_to_expert) -> Tensor",
    moe.expand_to_fused,
    lambda x, token_topk_to_pos, pos_to_expert: x.new_empty((pos_to_expert.shape[0], x.shape[1])),
)
_define(
    "expand_to_fused_with_sf(Tensor x, Tensor sf, int num_per_channels, Tensor token_topk_to_pos, "
    "Tensor pos_to_expert, bool use_tma_aligned_col_major_sf=False) -> (Tensor, Tensor)",
    lambda x, sf, *options: moe.expand_to_fused_with_sf((x, sf), *options),
    _expanded_with_sf,
)
_define(
    "reduce_fused(Tensor x, Tensor? topk_weights, Tensor token_topk_to_pos, str fp8_format='', "
    "Tensor? sf=None, Tensor? x_sf=None) -> Tensor",
    _reduce_fused,
    lambda x, topk_weights, token_topk_to_pos, fp8_format="", sf=None, x_sf=None: x.new_empty(
        (token_topk_to_pos.shape[0], x.shape[1]),
        dtype=torch.float8_e4m3fn if fp8_format else x.dtype,
    ),
)


# ---- multiplies ----
def _gemm(
    run: Callable,
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    activation: str = "none",
    trans_a: bool = False,
    trans_b: bool = False,
) -> torch.Tensor:
    return run(
        a,
        b,
        trans_a=trans_a,
        trans_b=trans_b,
        activation=activation,
        bias=bias,
        residual=residual,
    )


def _fake_gemm(
    a: torch.Tensor,
    b: torch.Tensor,
    bias: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    activation: str = "none",
    trans_a: bool = False,
    trans_b: bool = False,
) -> torch.Tensor:
    rows, columns = a.shape[-1 if trans_a else -2], b.shape[-2 if trans_b else -1]
    return a.new_empty((*a.shape[:-2], rows, columns))


for _name in ("gemm", "batched_gemm"):
    _define(
        f"{_name}(Tensor a, Tensor b, Tensor? bias=None, Tensor? residual=None, "
        "str activation='none', bool trans_a=False, bool trans_b=False) -> Tensor",
        partial(_gemm, getattr(tw, _name)),
        _fake_gemm,
    )
_define(
    "attention(Tensor q, Tensor k, Tensor v, float? scale=None, bool causal=False, "
    "Tensor? key_lengths=None) -> Tensor",
    lambda q, k, v, scale=None, causal=False, key_lengths=None: tw.attention(
        q, k, v, scale=scale, causal=causal, key_lengths=key_lengths
    ),
    _like,
)
_define(
    "masked_mean_pool(Tensor x, Tensor cu_seqlens, bool l2_normalize=False) -> Tensor",
    lambda x, cu_seqlens, l2_normalize=False: tw.masked_mean_pool(
        x, cu_seqlens, l2_normalize=l2_normalize
    ),
    lambda x, cu_seqlens, l2_normalize=False: x.new_empty(
        (cu_seqlens.shape[0] - 1, x.shape[1]), dtype=torch.float32
    ),
)
