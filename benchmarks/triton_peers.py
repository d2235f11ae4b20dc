"""Kernels for the peer Triton, each in its usual form: a row or a tile a program."""
# ruff: noqa: ANN001, ANN202 (parameters of compiled kernels)

from __future__ import annotations

import torch
import triton
import triton.language as tl

E4M3_MAX = tl.constexpr(448.0)


@triton.jit
def _read(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    tl.store(y + i, tl.sum(tl.load(x + i.to(tl.int64) * BLOCK + tl.arange(0, BLOCK))))


def read(x: torch.Tensor) -> None:
    blocks = x.numel() // 8192
    _read[(blocks,)](x, torch.empty(blocks, device=x.device), 8192, num_warps=8)


@triton.jit
def _elementwise(x, y, n, SILU: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n).to(tl.float32)
    v = v * tl.sigmoid(v) if SILU else tl.maximum(v, 0.0)
    tl.store(y + at, v.to(y.dtype.element_ty), mask=at < n)


def silu(x: torch.Tensor, y: torch.Tensor, block: int = 4096) -> torch.Tensor:
    _elementwise[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), True, block, num_warps=8)
    return y


def relu(x: torch.Tensor, y: torch.Tensor, block: int = 4096) -> torch.Tensor:
    _elementwise[(triton.cdiv(x.numel(), block),)](x, y, x.numel(), False, block, num_warps=8)
    return y


@triton.jit
def _rms_norm(x, w, y, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + at, mask=at < n, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v) / n + eps)
    g = tl.load(w + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y + row * n + at, (v * scale * g).to(y.dtype.element_ty), mask=at < n)


def rms_norm(x: torch.Tensor, w: torch.Tensor, eps: float, y: torch.Tensor) -> torch.Tensor:
    n = x.shape[1]
    _rms_norm[(x.shape[0],)](x, w, y, n, eps, triton.next_power_of_2(n), num_warps=8)
    return y


@triton.jit
def _layer_norm(x, w, b, y, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + at, mask=at < n, other=0.0).to(tl.float32)
    v = tl.where(at < n, v - tl.sum(v) / n, 0.0)
    scale = tl.rsqrt(tl.sum(v * v) / n + eps)
    g = tl.load(w + at, mask=at < n, other=0.0).to(tl.float32)
    o = tl.load(b + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(y + row * n + at, (v * scale * g + o).to(y.dtype.element_ty), mask=at < n)


def layer_norm(
    x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, eps: float, y: torch.Tensor
) -> torch.Tensor:
    n = x.shape[1]
    _layer_norm[(x.shape[0],)](x, w, b, y, n, eps, triton.next_power_of_2(n), num_warps=8)
    return y


@triton.jit
def _softmax(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + at, mask=at < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v))
    tl.store(y + row * n + at, (e / tl.sum(e)).to(y.dtype.element_ty), mask=at < n)


def softmax(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    n = x.shape[1]
    _softmax[(x.shape[0],)](x, y, n, triton.next_power_of_2(n), num_warps=8)
    return y


@triton.jit
def _row_sum(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    tl.store(y + row, tl.sum(tl.load(x + row * n + at, mask=at < n, other=0.0).to(tl.float32)))


def row_sum(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    n = x.shape[1]
    _row_sum[(x.shape[0],)](x, y, n, triton.next_power_of_2(n), num_warps=8)
    return y


@triton.jit
def _row_argmax(x, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + at, mask=at < n, other=-float("inf")).to(tl.float32)
    tl.store(y + row, tl.argmax(v, 0))


def row_argmax(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    n = x.shape[1]
    _row_argmax[(x.shape[0],)](x, y, n, triton.next_power_of_2(n), num_warps=8)
    return y


@triton.jit
def _transpose(x, y, m, n, M: tl.constexpr, N: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * M + tl.arange(0, M)
    j = tl.program_id(1).to(tl.int64) * N + tl.arange(0, N)
    inside = (i[:, None] < m) & (j[None, :] < n)
    tile = tl.load(x + i[:, None] * n + j[None, :], mask=inside)
    tl.store(y + j[:, None] * m + i[None, :], tl.trans(tile), mask=tl.trans(inside))


def transpose(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    m, n = x.shape
    _transpose[(triton.cdiv(m, 64), triton.cdiv(n, 128))](x, y, m, n, 64, 128, num_warps=8)
    return y


@triton.jit
def _group_cast(x, q, sf, groups, SIZE: tl.constexpr, ROWS: tl.constexpr):
    group = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    at = group[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    inside = group < groups
    v = tl.load(x + at, mask=inside[:, None], other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(v), 1), 1e-4) / E4M3_MAX
    tl.store(sf + group, scale, mask=inside)
    tl.store(q + at, (v / scale[:, None]).to(q.dtype.element_ty), mask=inside[:, None])


def group_cast(x: torch.Tensor, q: torch.Tensor, sf: torch.Tensor) -> torch.Tensor:
    groups = x.numel() // 128
    _group_cast[(triton.cdiv(groups, 16),)](x, q, sf, groups, 128, 16, num_warps=4)
    return q


@triton.jit
def _gather(x, index, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    source = tl.load(index + row)
    v = tl.load(x + source * n + at, mask=at < n)
    tl.store(y + row * n + at, v, mask=at < n)


def gather(x: torch.Tensor, index: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    n = x.shape[1]
    _gather[(index.shape[0],)](x, index, y, n, triton.next_power_of_2(n), num_warps=8)
    return y
