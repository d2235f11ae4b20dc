"""The operators of `tile_kernels` beside its references in torch, eager and compiled, and the share
of a copy that moves as many bytes.

Sizes are those of the kernels' specifications: 8192 tokens of 7168 columns, 256 experts of which a
token has 8, and what reaches one of 8 ranks when each of them sends 4001 tokens.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import torch
from gpu import GpuCase, GpuContext
from record import Record
from torch import Tensor

from tile_kernels import moe, quant, rand, transform, transpose
from tile_kernels import torch as reference

WIDTH, EXPERTS, TOPK, RANKS = 7168, 256, 8, 8
LOCAL = EXPERTS // RANKS
bf16, f32, e4m3 = torch.bfloat16, torch.float32, torch.float8_e4m3fn
PACKED = {"round_sf": True, "use_tma_aligned_col_major_sf": True, "use_packed_ue8m0": True}


def run(context: GpuContext) -> Iterator[Record]:
    tokens, sent = (128, 16) if context.quick else (8192, 4001)
    for name, dtype, make in CASES:
        if context.wants(name):
            torch._dynamo.reset()  # else it gives up compiling after several closures
            size = sent if make.func in OF_A_LAYOUT else tokens
            yield context.measure("library", case(name, dtype, make(size)))
            torch.cuda.empty_cache()


@dataclass
class Job:
    """What contestants call, and the tensors that the work can't do without, also in tuples."""

    ours: Callable[[], object]
    theirs: Callable[[], object]
    reads: object
    writes: object = ()  # besides what a call of ours allocates
    compare: bool = True  # the first result, if there is one


def alike(ours: Callable, theirs: Callable, *args: object, writes: object = ()) -> Job:
    """Both take the same arguments."""
    return Job(lambda: ours(*args), lambda: theirs(*args), args, writes)


def case(name: str, dtype: str, job: Job) -> GpuCase:
    def first(call: Callable[[], object]) -> Callable[[], Tensor | None]:
        def result() -> Tensor | None:
            results = call()
            return next(tensors(results), None) if job.compare else None

        return result

    peers = {"torch": first(job.theirs)}
    compiled = torch.compile(job.theirs, dynamic=False)
    try:
        compiled()
        peers["torch.compile"] = first(compiled)
    except Exception as error:  # whatever its backends raise
        print(f"{name} {dtype}: torch.compile: {str(error).splitlines()[0]}", file=sys.stderr)
    touched = [*tensors((job.reads, job.writes, job.ours()))]
    moved = sum(t.nbytes for t in touched)
    return GpuCase(name, dtype, [*touched[0].shape], first(job.ours), moved, peers)


def tensors(x: object) -> Iterator[Tensor]:
    if isinstance(x, Tensor):
        yield x
    elif isinstance(x, (tuple, list)):
        for each in x:
            yield from tensors(each)


# ---- inputs ----
def normal(*shape: int, dtype: torch.dtype = f32) -> Tensor:
    return torch.randn(*shape, device="cuda").to(dtype)


def uniform(*shape: int) -> Tensor:
    return torch.rand(*shape, device="cuda")


def factors(*shape: int) -> Tensor:
    return torch.randint(-5, 3, shape, device="cuda").float().exp2()


def topk_idx(tokens: int) -> Tensor:
    return uniform(tokens, EXPERTS).topk(TOPK, sorted=False).indices


class Layout:
    """What reaches a rank when each sends so many tokens, in the order of its experts."""

    def __init__(self, sent: int) -> None:
        idx = topk_idx(sent * RANKS)
        idx[idx >= LOCAL] = -1
        self.idx = idx[(idx >= 0).any(1)].contiguous()
        maps = moe.get_fused_mapping(self.idx, LOCAL, 0, 128)
        self.to_expert, self.to_token, _, self.to_pos = maps[:4]
        self.tokens, self.rows = len(self.idx), len(self.to_expert)


# ---- mixtures of experts ----
def topk_gate(tokens: int) -> Job:
    return alike(moe.topk_gate, reference.stable_topk, normal(tokens, EXPERTS), TOPK)


def best_groups(tokens: int) -> Job:
    scores = normal(tokens, RANKS, LOCAL)
    name = "topk_sum_and_topk_group_idx"
    return alike(getattr(moe, name), getattr(reference, name), scores, 2, 4)


def gate_forward(tokens: int) -> Job:
    options = TOPK, False, 0, 1.5, 0, "sqrtsoftplus", None, normal(EXPERTS)
    logits = normal(tokens, EXPERTS)
    return alike(moe.moe_topk_gate_forward, reference.moe_topk_gate_forward, logits, *options)


def gate_backward(tokens: int) -> Job:
    scores = torch.nn.functional.softplus(normal(tokens, EXPERTS)).sqrt()
    top = scores.topk(TOPK)
    weights = 1.5 * top.values / top.values.sum(1, keepdim=True)
    args = scores, top.indices, weights, torch.randn_like(weights), 1.5, "sqrtsoftplus"
    return alike(moe.moe_topk_gate_backward, reference.moe_topk_gate_backward, *args)


def top2_sum_gate(scoring: str, groups: int, tokens: int) -> Job:
    options = TOPK, groups // 2, groups, False, 0, 1.5, 0, RANKS, 0, 1, scoring
    args = normal(tokens, EXPERTS), normal(EXPERTS), *options
    return alike(moe.top2_sum_gate, reference.top2_sum_gate, *args)


def normalize_weight(tokens: int) -> Job:
    return alike(moe.normalize_weight, reference.normalize_weight, uniform(4 * tokens, TOPK))


def of_indices(name: str, options: tuple[int, ...], tokens: int) -> Job:
    return alike(getattr(moe, name), getattr(reference, name), topk_idx(tokens), *options)


def unique_groups(tokens: int) -> Job:
    """In place: what occurs twice is gone after the first call, which times don't show."""
    name = "inplace_unique_group_indices"
    return alike(getattr(moe, name), getattr(reference, name), topk_idx(tokens) // LOCAL, RANKS)


def get_fused_mapping(sent: int) -> Job:
    layout = Layout(sent)

    def by_sorting() -> tuple[Tensor, ...]:
        """Four of the maps, without padding."""
        experts, order = layout.idx.flatten().sort(stable=True)
        pos = torch.empty_like(order).scatter_(0, order, torch.arange(len(order), device="cuda"))
        return pos.int(), experts.int(), (order // TOPK).int(), order.int()

    ours = partial(moe.get_fused_mapping, layout.idx, LOCAL, layout.rows, 128)
    return Job(ours, by_sorting, layout.idx, compare=False)


def expand_to_fused(sent: int) -> Job:
    layout = Layout(sent)
    x = normal(layout.tokens, WIDTH, dtype=bf16)
    maps = layout.to_pos, layout.to_expert
    return alike(moe.expand_to_fused, reference.expand_to_fused, x, *maps)


def expand_to_fused_with_sf(sent: int) -> Job:
    layout = Layout(sent)
    x = normal(layout.tokens, WIDTH, dtype=e4m3), factors(layout.tokens, WIDTH // 128)
    args = x, 128, layout.to_pos, layout.to_expert
    return alike(moe.expand_to_fused_with_sf, reference.expand_to_fused_with_sf, *args)


def reduce_fused(sent: int) -> Job:
    layout = Layout(sent)
    args = normal(layout.rows, WIDTH, dtype=bf16), uniform(layout.tokens, TOPK), layout.to_pos
    return alike(moe.reduce_fused, reference.reduce_fused, *args)


# ---- casts ----
def per_token_cast(source: torch.dtype, fmt: str, group: int, flags: dict, tokens: int) -> Job:
    x = normal(tokens, WIDTH, dtype=source)
    ours = partial(quant.per_token_cast, x, fmt, group, **flags)
    return Job(ours, partial(reference.cast, x, fmt, (1, group), **flags), x)


def per_block_cast(source: torch.dtype, fmt: str, edge: int, flags: dict, tokens: int) -> Job:
    x = normal(tokens, WIDTH, dtype=source)
    ours = partial(quant.per_block_cast, x, fmt, (edge, edge), **flags)
    return Job(ours, partial(reference.cast, x, fmt, (edge, edge), **flags), x)


def per_channel_cast(tokens: int) -> Job:
    x = normal(tokens, WIDTH, dtype=bf16)
    ours = partial(quant.per_channel_cast, x, "e4m3", 128, round_sf=True)
    return Job(ours, partial(reference.cast, x, "e4m3", (128, 1), round_sf=True), x)


def per_channel_cast_and_transpose(tokens: int) -> Job:
    x = normal(tokens, WIDTH, dtype=bf16)

    def theirs() -> tuple[Tensor, Tensor]:
        codes, sf = reference.cast(x, "e4m3", (128, 1), round_sf=True)
        return codes.t().contiguous(), sf

    ours = partial(quant.per_channel_cast_and_transpose, x, "e4m3", 128, round_sf=True)
    return Job(ours, theirs, x)


def per_channel_cast_fused(sent: int) -> Job:
    """Of gathered rows, which are codes."""
    layout = Layout(sent)
    x = normal(layout.tokens, WIDTH, dtype=e4m3), factors(layout.tokens, WIDTH // 128)
    index = layout.to_token
    ours = partial(quant.per_channel_cast_fused, x, "e4m3", 128, True, 128, index)
    theirs = partial(reference.per_channel_cast_fused, x, 128, 128, True, index)
    return Job(ours, theirs, (x, index))


def per_block_cast_lossless(edge: int, tokens: int) -> Job:
    codes = torch.randint(-128, 128, (tokens, WIDTH // 2), device="cuda", dtype=torch.int8)
    x, block = (codes, factors(tokens, WIDTH // 32)), (edge, edge)

    def theirs() -> object:
        back = reference.cast_back(x, "fp32", (1, 32))
        return reference.cast(back, "e4m3", block, round_sf=True)

    ours = partial(quant.per_block_cast_lossless, x, "e4m3", (1, 32), block, round_sf=True)
    return Job(ours, theirs, x, compare=False)  # its factors are another choice


def fake_cast(tokens: int) -> Job:
    x = normal(tokens, WIDTH, dtype=bf16)

    def theirs() -> Tensor:
        return reference.cast_back(reference.cast(x, "e4m3", (1, 128)), "bf16", (1, 128))

    return Job(partial(quant.per_token_cast_and_cast_back, x, "e4m3", 128), theirs, x, writes=x)


def to_e5m6(tokens: int) -> Job:
    x = normal(tokens, WIDTH, dtype=bf16)
    ours = partial(quant.per_token_cast, x, "e5m6", WIDTH, round_sf=True)
    return Job(ours, partial(reference.cast_to_e5m6, x, WIDTH, round_sf=True), x)


def from_e5m6(tokens: int) -> Job:
    x = reference.cast_to_e5m6(normal(tokens, WIDTH, dtype=bf16), WIDTH)
    ours = partial(quant.cast_back, x, "bf16", (1, WIDTH), x_special_fmt="e5m6")
    return Job(ours, partial(reference.cast_back_from_e5m6, x, "bf16", (1, WIDTH)), x)


def cast_back(fmt: str, block: tuple[int, int], result: str, tokens: int) -> Job:
    x = reference.cast(normal(tokens, WIDTH, dtype=bf16), fmt, block, round_sf=True)
    return alike(quant.cast_back, reference.cast_back, x, result, block)


def plain_cast(source: torch.dtype, result: torch.dtype, stochastic: bool, tokens: int) -> Job:
    x = normal(tokens, WIDTH, dtype=source)
    ours = partial(quant.cast, x, result, stochastic)
    return Job(ours, lambda: x.to(result), x, compare=not stochastic)


def weight_factors(tokens: int) -> Job:
    sf = [factors(tokens // 256, 2 * 2048 // 32, WIDTH // 32), factors(WIDTH // 32, WIDTH // 32)]
    turned, none = [False, True], [None, None]
    ours = partial(quant.batched_transpose_weight_sf, sf, 32, turned, none)
    return Job(ours, partial(reference.batched_transpose_weight_sf, sf, 32, turned), sf)


# ---- the others ----
def apply_rotary(heads: int, width: int, d: int, interleaved: bool, tokens: int) -> Job:
    """In place, of the last d columns of each head, and of one key."""
    query = normal(tokens, heads, width, dtype=bf16)[..., width - d :]
    key, positions = normal(tokens, 1, d, dtype=bf16), torch.arange(tokens, device="cuda")
    table = normal(tokens, d)
    half = d // 2

    def theirs() -> None:
        for x in (query, key):
            angles = table[:, :half], table[:, half:]
            x.copy_(reference.rotary_embedding_ref(x, *angles, positions, interleaved=interleaved))

    ours = partial(transform.apply_rotary, query, table, key, positions, interleaved)
    return Job(ours, theirs, (query, key, table, positions), writes=(query, key))


def randn(tokens: int) -> Job:
    ours = partial(rand.randn, tokens, WIDTH, dtype=bf16, device="cuda")
    theirs = partial(torch.randn, tokens, WIDTH, dtype=bf16, device="cuda")
    return Job(ours, theirs, (), compare=False)


def turn(dtype: torch.dtype, tokens: int) -> Job:
    x = normal(tokens, WIDTH, dtype=dtype)
    return Job(partial(transpose.transpose, x), lambda: x.t().contiguous(), x)


# What takes the tokens that each rank sends; all others take the tokens of a call.
OF_A_LAYOUT = (
    get_fused_mapping,
    expand_to_fused,
    expand_to_fused_with_sf,
    reduce_fused,
    per_channel_cast_fused,
)
CASES: list[tuple[str, str, partial[Job]]] = [
    ("topk_gate", "f32", partial(topk_gate)),
    ("topk_sum_and_topk_group_idx", "f32", partial(best_groups)),
    ("moe_topk_gate_forward", "f32", partial(gate_forward)),
    ("moe_topk_gate_backward", "f32", partial(gate_backward)),
    ("top2_sum_gate", "sigmoid", partial(top2_sum_gate, "sigmoid", 8)),
    ("top2_sum_gate", "sqrtsoftplus", partial(top2_sum_gate, "sqrtsoftplus", 0)),
    ("normalize_weight", "f32", partial(normalize_weight)),
    (
        "mask_indices_by_tp",
        "i64",
        partial(of_indices, "mask_indices_by_tp", (EXPERTS, RANKS, 0, 2)),
    ),
    ("inplace_unique_group_indices", "i64", partial(unique_groups)),
    ("group_count", "i64", partial(of_indices, "group_count", (EXPERTS,))),
    ("aux_fi", "i64", partial(of_indices, "aux_fi", (EXPERTS, TOPK))),
    ("get_fused_mapping", "i64", partial(get_fused_mapping)),
    ("expand_to_fused", "bf16", partial(expand_to_fused)),
    ("expand_to_fused_with_sf", "e4m3", partial(expand_to_fused_with_sf)),
    ("reduce_fused", "bf16", partial(reduce_fused)),
    ("per_token_cast", "bf16->e4m3", partial(per_token_cast, bf16, "e4m3", 128, {})),
    ("per_token_cast", "bf16->e4m3 packed", partial(per_token_cast, bf16, "e4m3", 32, PACKED)),
    ("per_token_cast", "f32->e2m1", partial(per_token_cast, f32, "e2m1", 32, {"round_sf": True})),
    ("per_token_cast", "bf16->e2m1 packed", partial(per_token_cast, bf16, "e2m1", 32, PACKED)),
    ("per_token_cast", "bf16->e5m6", partial(to_e5m6)),
    ("per_block_cast", "bf16->e4m3", partial(per_block_cast, bf16, "e4m3", 128, {})),
    ("per_block_cast", "bf16->e2m1 packed", partial(per_block_cast, bf16, "e2m1", 32, PACKED)),
    ("per_block_cast_lossless", "e2m1->e4m3", partial(per_block_cast_lossless, 128)),
    ("per_channel_cast", "bf16->e4m3", partial(per_channel_cast)),
    ("per_channel_cast_and_transpose", "bf16->e4m3", partial(per_channel_cast_and_transpose)),
    ("per_channel_cast_fused", "e4m3->e4m3", partial(per_channel_cast_fused)),
    ("per_token_cast_and_cast_back", "bf16", partial(fake_cast)),
    ("cast_back", "e4m3->f32", partial(cast_back, "e4m3", (1, 128), "fp32")),
    ("cast_back", "e4m3->bf16", partial(cast_back, "e4m3", (128, 128), "bf16")),
    ("cast_back", "e2m1->bf16", partial(cast_back, "e2m1", (1, 32), "bf16")),
    ("cast_back", "e5m6->bf16", partial(from_e5m6)),
    ("cast", "f32->bf16", partial(plain_cast, f32, bf16, False)),
    ("cast", "f32->bf16 stochastic", partial(plain_cast, f32, bf16, True)),
    ("batched_transpose_weight_sf", "f32->i32", partial(weight_factors)),
    ("apply_rotary", "bf16 interleaved", partial(apply_rotary, 128, 192, 64, True)),
    ("apply_rotary", "bf16", partial(apply_rotary, 64, 128, 128, False)),
    ("randn", "bf16", partial(randn)),
    ("transpose", "bf16", partial(turn, bf16)),
    ("transpose", "e4m3", partial(turn, e4m3)),
]
