"""Memory-bound kernels on a GPU beside torch, torch.compile and Triton kernels of our own, and the
share of a copy that moves as many bytes.

Rows of 7168: as many that 235, 33 and 8.5 MB are read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import triton_peers
from gpu import GpuCase, GpuContext
from record import Record, WrongResult

import tilewright as tw

EPS = 1e-6
WIDTH = 7168
ROWS = (8192, 1168, 296)
bf16, f32 = torch.bfloat16, torch.float32


def run(context: GpuContext) -> Iterator[Record]:
    for rows in ROWS[2:] if context.quick else ROWS:
        torch._dynamo.reset()  # else it gives up compiling after several shapes
        for make in CASES:
            name = make.__name__
            if context.wants(name) and (rows == ROWS[0] or name != "top_k"):
                yield context.measure("h200", make(rows))
        torch.cuda.empty_cache()


def random(*shape: int, dtype: torch.dtype = bf16) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype)


def compiled(f: Callable, *args: object) -> Callable:
    fast = torch.compile(f, dynamic=False)
    return lambda: fast(*args)


def _map(name: str, rows: int, ours: Callable, eager: Callable, triton: Callable) -> GpuCase:
    x = random(rows, WIDTH)
    y, z = torch.empty_like(x), torch.empty_like(x)
    peers = {
        "torch": lambda: eager(x),
        "torch.compile": compiled(eager, x),
        "triton": lambda: triton(x, z),
    }
    return GpuCase(name, "bf16", [rows, WIDTH], lambda: ours(x, out=y), 2 * x.nbytes, peers)


def relu(rows: int) -> GpuCase:
    return _map("relu", rows, tw.relu, torch.relu, triton_peers.relu)


def silu(rows: int) -> GpuCase:
    return _map("silu", rows, tw.silu, torch.nn.functional.silu, triton_peers.silu)


def softmax(rows: int) -> GpuCase:
    return _map("softmax", rows, tw.softmax, lambda x: torch.softmax(x, -1), triton_peers.softmax)


def rms_norm(rows: int) -> GpuCase:
    w = random(WIDTH)

    def eager(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, (WIDTH,), w, EPS)

    return _map(
        "rms_norm",
        rows,
        lambda x, out: tw.rms_norm(x, w, EPS, out=out),
        eager,
        lambda x, z: triton_peers.rms_norm(x, w, EPS, z),
    )


def layer_norm(rows: int) -> GpuCase:
    w, b = random(WIDTH), random(WIDTH)

    def eager(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(x, (WIDTH,), w, b, EPS)

    return _map(
        "layer_norm",
        rows,
        lambda x, out: tw.layer_norm(x, w, b, EPS, out=out),
        eager,
        lambda x, z: triton_peers.layer_norm(x, w, b, EPS, z),
    )


def group_cast(rows: int) -> GpuCase:
    """Groups of 128 of a row, with a scale each."""
    x = random(rows, WIDTH)
    q, r = (torch.empty(rows, WIDTH, device="cuda", dtype=torch.float8_e4m3fn) for _ in range(2))
    sf, st = (torch.empty(rows, WIDTH // 128, device="cuda") for _ in range(2))

    def eager(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        groups = x.view(rows, -1, 128).float()
        scale = groups.abs().amax(-1, keepdim=True).clamp(min=1e-4) / 448
        return (groups / scale).to(torch.float8_e4m3fn).view(rows, WIDTH), scale.view(rows, -1)

    def ours() -> torch.Tensor:
        tw.per_token_cast(x, "e4m3", 128, out=(q, sf))
        return q

    fast = compiled(eager, x)
    peers = {
        "torch": lambda: eager(x)[0],
        "torch.compile": lambda: fast()[0],
        "triton": lambda: triton_peers.group_cast(x, r, st),
    }
    moved = x.nbytes + q.nbytes + sf.nbytes
    return GpuCase("group_cast", "bf16->e4m3", [rows, WIDTH], ours, moved, peers, tolerance=5e-2)


def gather_rows(rows: int) -> GpuCase:
    x, index = random(rows, WIDTH), torch.randperm(rows, device="cuda")
    y, z = torch.empty_like(x), torch.empty_like(x)
    peers = {
        "torch": lambda: torch.index_select(x, 0, index),
        "torch.compile": compiled(lambda x, index: x[index], x, index),
        "triton": lambda: triton_peers.gather(x, index, z),
    }
    return GpuCase(
        "gather_rows",
        "bf16",
        [rows, WIDTH],
        lambda: tw.gather_rows(x, index, out=y),
        2 * x.nbytes + index.nbytes,
        peers,
        tolerance=0,
    )


def copy(rows: int) -> GpuCase:
    return _map("copy", rows, tw.copy, torch.clone, lambda x, z: z.copy_(x))


def cast(rows: int) -> GpuCase:
    """From bf16 to f32: twice as many bytes are written as read."""
    x = random(rows, WIDTH)
    y = torch.empty_like(x, dtype=f32)
    peers = {"torch": x.float, "torch.compile": compiled(lambda x: x.float(), x)}
    return GpuCase(
        "cast",
        "bf16->f32",
        [rows, WIDTH],
        lambda: tw.cast(x, "f32", out=y),
        x.nbytes + y.nbytes,
        peers,
        tolerance=0,
    )


def silu_and_mul(rows: int) -> GpuCase:
    """Of rows of a gate and as many values."""
    x = random(rows, 2 * WIDTH)
    y = random(rows, WIDTH)

    def eager(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.silu(x[:, :WIDTH]) * x[:, WIDTH:]

    peers = {"torch": lambda: eager(x), "torch.compile": compiled(eager, x)}
    return GpuCase(
        "silu_and_mul",
        "bf16",
        [rows, 2 * WIDTH],
        lambda: tw.silu_and_mul(x, out=y),
        x.nbytes + y.nbytes,
        peers,
    )


def transpose(rows: int) -> GpuCase:
    x = random(rows, WIDTH)
    y, z = (torch.empty(WIDTH, rows, device="cuda", dtype=bf16) for _ in range(2))
    peers = {
        "torch": lambda: z.copy_(x.t()),
        "torch.compile": compiled(lambda x: x.t().contiguous(), x),
        "triton": lambda: triton_peers.transpose(x, z),
    }
    ours = lambda: tw.transpose(x, out=y)  # noqa: E731
    return GpuCase("transpose", "bf16", [rows, WIDTH], ours, 2 * x.nbytes, peers, tolerance=0)


def row_sum(rows: int) -> GpuCase:
    x = random(rows, WIDTH)
    y, z = (torch.empty(rows, device="cuda", dtype=f32) for _ in range(2))

    def eager(x: torch.Tensor) -> torch.Tensor:
        return x.sum(-1, dtype=f32)

    peers = {
        "torch": lambda: eager(x),
        "torch.compile": compiled(eager, x),
        "triton": lambda: triton_peers.row_sum(x, z),
    }
    ours = lambda: tw.sum(x, out_dtype="f32", out=y)  # noqa: E731
    return GpuCase("row_sum", "bf16->f32", [rows, WIDTH], ours, x.nbytes, peers, reads_only=True)


def row_argmax(rows: int) -> GpuCase:
    x = random(rows, WIDTH)
    y, z = (torch.empty(rows, device="cuda", dtype=torch.int64) for _ in range(2))

    def eager(x: torch.Tensor) -> torch.Tensor:
        return x.argmax(-1)

    # Of equal values others may take another one: what is compared are the values.
    def value(index: torch.Tensor) -> torch.Tensor:
        return x.gather(1, index[:, None])

    def ours() -> None:
        tw.argmax(x, out=y)

    ours()
    if not torch.equal(value(y), value(eager(x))):
        raise WrongResult("argmax: another value than torch's")
    peers = {
        "torch": lambda: eager(x),
        "torch.compile": compiled(eager, x),
        "triton": lambda: triton_peers.row_argmax(x, z),
    }
    return GpuCase("row_argmax", "bf16", [rows, WIDTH], ours, x.nbytes, peers, reads_only=True)


def top_k(rows: int) -> GpuCase:
    x = random(rows, 256, dtype=f32)

    def ours() -> torch.Tensor:
        return tw.top_k(x, 8)[0]

    def eager(x: torch.Tensor) -> torch.Tensor:
        return torch.topk(x, 8)[0]

    peers = {"torch": lambda: eager(x), "torch.compile": compiled(eager, x)}
    return GpuCase("top_k", "f32", [rows, 256, 8], ours, x.nbytes, peers, tolerance=0)


CASES = [
    copy,
    relu,
    silu,
    silu_and_mul,
    cast,
    softmax,
    rms_norm,
    layer_norm,
    group_cast,
    gather_rows,
    transpose,
    row_sum,
    row_argmax,
    top_k,
]
