"""The kernels for mixtures of experts, casts, rotations and random numbers under compute-sanitizer.

`python sanitize.py [REGEX]` runs this file under each tool in turn: all calls, or those whose names
match. Sizes are small and divide nothing. torch allocates each tensor by itself and only copies.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

TOOLS = {
    "memcheck": ["--leak-check", "no"],
    "synccheck": [],
    "initcheck": [],
    "racecheck": ["--racecheck-report", "all"],
}


def calls() -> Iterator[tuple[str, Callable[[], Any]]]:
    import torch
    from moe_layouts import fused_mapping, some_experts

    import tilewright as tw
    from tilewright import moe, quant, rand, transform

    random = torch.Generator().manual_seed(1)

    def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.randn(shape, generator=random).to(dtype).cuda()

    def below(limit: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        return torch.randint(0, limit, shape, generator=random).to(dtype).cuda()

    def powers(*shape: int) -> torch.Tensor:
        return torch.randint(-3, 3, shape, generator=random).float().exp2().cuda()

    packed = {"round_sf": True, "use_packed_ue8m0": True}
    columns = {**packed, "use_tma_aligned_col_major_sf": True}

    # ---- casts ----
    for dtype in (torch.float32, torch.bfloat16):
        for fmt in ("e4m3", "e2m1"):
            for m, k in ((1, 64), (7, 576), (131, 192), (3, 16448)):
                x, what = normal(m, k, dtype=dtype), f"{dtype} {fmt} {m} {k}"
                for name, group, flags in (
                    ("plain", 32, {}),
                    ("columns", 128, columns),
                    ("rows", k, packed),
                    ("e4m3", 16, {"use_e4m3_sf": True}),
                    ("random", 64, {"stochastic_cast": True}),
                ):
                    yield (
                        f"per_token_cast {what} {name}",
                        lambda x=x, f=fmt, g=group, o=flags: quant.per_token_cast(x, f, g, **o),
                    )
                if fmt == "e4m3":
                    yield (
                        f"per_token_cast_to_e5m6 {what}",
                        lambda x=x, k=k: quant.per_token_cast_to_e5m6(x, k),
                    )
                sf = powers(m, -(-k // 128))
                yield (
                    f"per_token_cast_with_precomputed_sf {what}",
                    lambda x=x, f=fmt, s=sf: quant.per_token_cast_with_precomputed_sf(x, f, 128, s),
                )
                yield (
                    f"per_token_cast_with_sf_only {what}",
                    lambda x=x, f=fmt: quant.per_token_cast_with_sf_only(x, f, 32, **columns),
                )
                if k % 64 == 0:
                    yield (
                        f"per_token_cast_and_cast_back {what}",
                        lambda x=x, f=fmt: quant.per_token_cast_and_cast_back(x, f, 64),
                    )
                for block in ((128, 128), (32, 32), (32, 128)):
                    yield (
                        f"per_block_cast {what} {block}",
                        lambda x=x, f=fmt, b=block: quant.per_block_cast(x, f, b, **columns),
                    )
        for m, k in ((128, 64), (384, 192)):
            x = normal(m, k, dtype=dtype)
            for group in (32, 128):
                yield (
                    f"per_channel_cast {dtype} {m} {k} {group}",
                    lambda x=x, g=group: quant.per_channel_cast(x, "e4m3", g, True, None, True),
                )
                if dtype == torch.bfloat16:
                    yield (
                        f"per_channel_cast_and_transpose {m} {k} {group}",
                        lambda x=x, g=group: quant.per_channel_cast_and_transpose(x, "e4m3", g),
                    )
            index = (below(m + 9, 48, dtype=torch.int32).cpu() - 9).cuda()
            yield (
                f"per_channel_cast_fused {dtype} {m} {k}",
                lambda x=x, i=index: quant.per_channel_cast_fused(x, "e4m3", 128, pos_to_token=i),
            )
    for m, k in ((1, 64), (131, 192), (70, 576)):
        codes = below(0x7E, m, k, dtype=torch.uint8).view(torch.float8_e4m3fn)
        halves = below(256, m, k // 2, dtype=torch.uint8).view(torch.int8)
        for name, q in (("e4m3", codes), ("e2m1", halves)):
            for block in ((1, 32), (32, 32), (128, 1)):
                sf = powers(-(-m // block[0]), -(-k // block[1]))
                for to in ("bf16", "fp32"):
                    yield (
                        f"cast_back {name} {m} {k} {block} {to}",
                        lambda x=(q, sf), to=to, b=block: quant.cast_back(x, to, b),
                    )
            x = (below(256, m, k // 2 * 3, dtype=torch.uint8), powers(m, 1))
            yield (
                f"cast_back_e5m6 {m} {k}",
                lambda x=x, k=k: quant.cast_back_e5m6(x, "bf16", (1, k)),
            )
            x = (q, powers(m, -(-k // 32)))
            yield (
                f"per_token_cast {name} again {m} {k}",
                lambda x=x: quant.per_token_cast(x, "e4m3", 128, (1, 32), **columns),
            )
            if name == "e2m1":
                for block in ((1, 128), (32, 32), (128, 128), (64, 1024)):
                    yield (
                        f"per_block_cast_lossless {m} {k} {block}",
                        lambda x=x, b=block: quant.per_block_cast_lossless(
                            x, "e4m3", (1, 32), b, **columns
                        ),
                    )
    q = (below(0x7E, 128, 256, dtype=torch.uint8).view(torch.float8_e4m3fn), powers(128, 8))
    yield (
        "per_channel_cast again",
        lambda: quant.per_channel_cast(q, "e4m3", 32, num_per_channels=32),
    )
    weights = [powers(4, 8), powers(3, 20, 12), powers(12, 4)]
    yield (
        "batched_transpose_weight_sf",
        lambda: quant.batched_transpose_weight_sf(weights, 32, [False, True, False], [None] * 3),
    )
    for n in (4, 1004, 65540):
        x = normal(n)
        for to in ("bf16", "e4m3"):
            yield f"stochastic_cast {n} {to}", lambda x=x, to=to: quant.stochastic_cast(x, to)

    # ---- random numbers, rotations, transposes ----
    for n in (1, 4099, 300001):
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            y = torch.empty(n, dtype=dtype, device="cuda")
            yield f"randn {n} {dtype}", lambda y=y: rand.randn(y, 3, 8)
            yield f"standard_normal {n} {dtype}", lambda y=y: rand.standard_normal(y, 3, 8)
    table = normal(50, 64)
    for heads in (1, 5, 33):
        for interleaved in (False, True):
            x, where = normal(2, 9, heads, 72, dtype=torch.bfloat16), below(49, 2, 9)
            yield (
                f"apply_rotary {heads} {interleaved}",
                lambda x=x, w=where, i=interleaved: transform.apply_rotary(
                    x[..., 8:], table, positions=w, interleaved=i
                ),
            )
    for dtype in (torch.uint8, torch.bfloat16, torch.float32):
        x = below(99, 3, 64, 192, dtype=dtype)
        yield f"transpose {dtype}", lambda x=x: tw.transpose(x)

    # ---- experts ----
    for tokens, experts, k in ((1, 16, 2), (33, 72, 6), (131, 256, 8), (5, 1100, 32)):
        logits, bias, what = normal(tokens, experts), normal(experts), f"{tokens} {experts} {k}"
        mask = below(2, tokens).bool()
        unmapped = below(experts, tokens, k)
        counts = torch.ones(experts + 2, dtype=torch.int32, device="cuda")
        places = torch.arange(2 * experts + 4, dtype=torch.int32).view(-1, 2).cuda()
        yield f"topk_gate {what}", lambda x=logits, k=k: moe.topk_gate(x, k)
        extra = min(2, 32 - k)
        if extra:
            yield (
                f"moe_topk_gate_forward {what}",
                lambda x=logits, k=k, b=bias, m=mask, u=unmapped, c=counts, p=places: (
                    moe.moe_topk_gate_forward(
                        x, k, True, 2, 1.5, 1, mask=m, bias=b, fix_routing_mask=m,
                        to_physical_map=p, logical_count=c, unmapped_topk_idx=u.clone(),
                        force_random=m, scores=torch.empty_like(x),
                    )
                ),
            )  # fmt: skip
        yield (
            f"moe_topk_gate_forward plain {what}",
            lambda x=logits, k=k: moe.moe_topk_gate_forward(x, k, False, 0, 1.5, 0),
        )
        for func in ("sigmoid", "sqrtsoftplus", "softmax"):
            groups = (4, 8) if experts == 256 else (0, 0)
            yield (
                f"top2_sum_gate {what} {func}",
                lambda x=logits, b=bias, k=k, g=groups, f=func, m=mask, u=unmapped: (
                    moe.top2_sum_gate(
                        x, b, k, *g, False, 0, 1.5, 0, 4, 1, 2, f, m, m, None, None, u.clone()
                    )
                ),
            )
        scores, w = logits.cpu().abs().cuda(), normal(tokens, k)
        idx = torch.argsort(torch.rand(tokens, experts, generator=random))[:, :k].clone().cuda()
        yield (
            f"moe_topk_gate_backward {what}",
            lambda s=scores, i=idx, w=w, m=mask, b=bias: moe.moe_topk_gate_backward(
                s, i, w, w, 1.5, mask=m, grad_scores_sum=b[None]
            ),
        )
        yield f"normalize_weight {what}", lambda w=w: moe.normalize_weight(w)
    for tokens, groups, each in ((1, 1, 5), (67, 8, 9), (5, 32, 32)):
        x = normal(tokens, groups, each)
        yield (
            f"topk_sum_and_topk_group_idx {tokens} {groups} {each}",
            lambda x=x: moe.topk_sum_and_topk_group_idx(x, 2, 1),
        )
    for layout in ((1, 8, 4, 64), (101, 6, 9, 8), (301, 8, 32, 8)):
        chosen, experts = some_experts(*layout), layout[2]
        maps = fused_mapping(chosen, experts, 16)
        idx, what = torch.from_numpy(chosen).cuda(), str(layout)
        to_pos = torch.from_numpy(maps.token_topk_to_pos).cuda()
        to_expert = torch.from_numpy(maps.pos_to_expert).cuda()
        rows = to_expert.shape[0]
        yield f"mask_indices_by_tp {what}", lambda i=idx: moe.mask_indices_by_tp(i, 72, 8, 1, 2)
        yield (
            f"inplace_unique_group_indices {what}",
            lambda i=idx: moe.inplace_unique_group_indices(i.clone(), 64),
        )
        for groups in (experts, 9000):
            yield f"group_count {what}", lambda i=idx, g=groups: moe.group_count(i, g)
            yield f"aux_fi {what}", lambda i=idx, g=groups: moe.aux_fi(i, g, 2)
        for size in (0, rows + 37):
            yield (
                f"get_fused_mapping {what} {size}",
                lambda i=idx, e=experts, n=size: moe.get_fused_mapping(i, e, n, 16),
            )
        for h, dtype in ((100, torch.bfloat16), (576, torch.uint8), (2560, torch.float32)):
            x = normal(layout[0], h).cpu().to(dtype).cuda()
            yield (
                f"expand_to_fused {what} {h}",
                lambda x=x, p=to_pos, e=to_expert: moe.expand_to_fused(x, p, e),
            )
            sf = powers(layout[0], -(-h // 32))
            yield (
                f"expand_to_fused_with_sf {what} {h}",
                lambda x=(x, sf), p=to_pos, e=to_expert: moe.expand_to_fused_with_sf(
                    x, 32, p, e, True
                ),
            )
        for h, dtype in ((256, torch.float32), (2560, torch.bfloat16)):
            x, x_sf = normal(rows, h, dtype=dtype), normal(rows)
            w, sf = normal(*to_pos.shape), normal(1)
            yield (
                f"reduce_fused {what} {h}",
                lambda x=(x, x_sf), w=w, p=to_pos, s=sf: moe.reduce_fused(x, w, p, "e4m3", s),
            )
            yield (
                f"reduce_fused plain {what} {h}",
                lambda x=x, p=to_pos: moe.reduce_fused(x, None, p),
            )


def run(pattern: str) -> None:
    import torch

    count = 0
    for name, call in calls():
        if re.search(pattern, name):
            print(name, flush=True)
            call()
            torch.cuda.synchronize()
            count += 1
    print(f"{count} calls")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--tool", choices=TOOLS, action="append", help="default: each of them")
    parser.add_argument("--run", action="store_true", help="make the calls, without a tool")
    options = parser.parse_args()
    if options.run:
        run(options.pattern)
        return 0
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    again = [sys.executable, __file__, "--run", options.pattern]
    failed = []
    for tool in options.tool or TOOLS:
        command = [sanitizer, "--tool", tool, *TOOLS[tool], "--error-exitcode", "9", *again]
        print(f"---- {tool}", flush=True)
        if subprocess.run(command, env=environment).returncode:
            failed.append(tool)
    print("found something: " + ", ".join(failed) if failed else "nothing was found")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
