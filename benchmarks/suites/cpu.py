"""Kernels on the CPU beside numpy and onnxruntime, and the share of what the machine could do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from ceilings import Ceiling, fma_peak, memory_copy
from context import Case, Context
from onnx import TensorProto
from peers import Graph, onnx_call, onnx_op
from record import Record

import tilewright as tw

EPS = 1e-5


def run(context: Context) -> Iterator[Record]:
    for cases in (memory_bound, rows, gemm, gemm_bf16, batched_gemm, attention):
        for case in cases(context):
            yield context.measure("cpu", case)


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape, dtype="float32")


def to_bf16(x: np.ndarray) -> np.ndarray:
    """The bits of bf16 in uint16, rounded to nearest even."""
    bits = x.view("uint32")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("uint16")


COPY = """tilewright ir 1
program "copy" {
  symbol n: i64
  symbol h: i64
  input x: f32[n, h]
  output y: f32[n, h]
  launch i in n {
    parallel j in h {
      y[i, j] = x[i, j]
    }
  }
}
"""


def memory_bound(context: Context) -> Iterator[Case]:
    """Each reads a matrix once and writes one: the ceiling is a copy of as many bytes."""
    n = h = context.size(4096)
    shape = [n, h]
    x, y, w, b = random(n, h), np.empty((n, h), "float32"), random(h), random(h)
    half = np.empty((n, h), "uint16")
    ceiling = memory_copy(context.threads, x.nbytes)
    both = 2 * x.nbytes

    def onnx(kind: str, *inputs: np.ndarray, **attributes: object) -> dict:
        return {"onnxruntime": onnx_op(kind, list(inputs), (n, h), context.threads, **attributes)}

    def softmax() -> np.ndarray:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return np.divide(e, e.sum(axis=1, keepdims=True), out=e)

    def layer_norm() -> np.ndarray:
        centered = x - x.mean(axis=1, keepdims=True)
        scale = np.sqrt(np.square(centered).mean(axis=1, keepdims=True) + EPS)
        return centered / scale * w + b

    def rms_norm() -> np.ndarray:
        return x / np.sqrt(np.square(x).mean(axis=1, keepdims=True) + EPS) * w

    def case(name: str, dtype: str, ours: object, peers: dict, moved: int = both) -> Case:
        return Case(name, dtype, shape, ours, peers, bytes=moved, ceiling=ceiling)

    if context.wants("copy"):
        copy = tw.compile_text(COPY)
        yield case("copy", "f32", lambda: copy(x, out=y), {"numpy": lambda: np.copyto(y, x)})
    if context.wants("softmax"):
        peers = {"numpy": softmax, **onnx("Softmax", x)}
        yield case("softmax", "f32", lambda: tw.softmax(x, out=y), peers)
    if context.wants("layer_norm"):
        peers = {"numpy": layer_norm, **onnx("LayerNormalization", x, w, b, epsilon=EPS)}
        yield case("layer_norm", "f32", lambda: tw.layer_norm(x, w, b, EPS, out=y), peers)
    if context.wants("rms_norm"):
        peers = {"numpy": rms_norm, **onnx("RMSNormalization", x, w, epsilon=EPS)}
        yield case("rms_norm", "f32", lambda: tw.rms_norm(x, w, EPS, out=y), peers)
    if context.wants("cast"):
        bf16 = TensorProto.BFLOAT16
        peer = onnx_op("Cast", [x], (n, h), context.threads, element=bf16, to=bf16)
        yield case(
            "cast",
            "f32->bf16",
            lambda: tw.cast(x, "bf16", out=half, dtype="bf16"),
            {"numpy": lambda: to_bf16(x), "onnxruntime": peer},
            x.nbytes + half.nbytes,
        )
    if context.wants("per_token_cast"):
        q, sf = np.empty((n, h), "uint8"), np.empty((n, h // 128), "float32")
        yield case(
            "per_token_cast",
            "f32->e4m3",
            lambda: tw.per_token_cast(x, "e4m3", 128, out=(q, sf), dtype="e4m3"),
            {},
            x.nbytes + q.nbytes + sf.nbytes,
        )


def rows(context: Context) -> Iterator[Case]:
    """Folds, scans and moves of a matrix; those that write one have a copy as their ceiling."""
    n = h = context.size(4096)
    shape = [n, h]
    x, y, out, index = random(n, h), np.empty((n, h), "float32"), random(n), np.empty(n, "int64")
    ceiling = memory_copy(context.threads, x.nbytes)

    def case(name: str, ours: object, numpy: object, moved: int) -> Case:
        return Case(name, "f32", shape, ours, {"numpy": numpy}, bytes=moved, ceiling=ceiling)

    if context.wants("sum"):
        yield case("sum", lambda: tw.sum(x, out=out), lambda: x.sum(1), x.nbytes)
    if context.wants("argmax"):
        yield case("argmax", lambda: tw.argmax(x, out=index), lambda: x.argmax(1), x.nbytes)
    if context.wants("transpose"):
        yield case(
            "transpose",
            lambda: tw.transpose(x, out=y),
            lambda: np.ascontiguousarray(x.T),
            2 * x.nbytes,
        )
    if context.wants("add"):
        yield case("add", lambda: tw.add(x, x, out=y), lambda: np.add(x, x), 2 * x.nbytes)


def gemm(context: Context) -> Iterator[Case]:
    ceiling = fma_peak(context.threads)
    for n in (512, 1024, 2048, 4096)[: 1 if context.quick else 4]:
        if context.wants(f"gemm {n}"):
            yield _gemm(context, context.size(n), ceiling)


def _gemm(context: Context, n: int, ceiling: Ceiling) -> Case:
    a, b, c, d = random(n, n), random(n, n), *np.empty((2, n, n), "float32")
    return Case(
        "gemm",
        "f32",
        [n, n, n],
        lambda: tw.gemm(a, b, out=c),
        {
            "numpy": lambda: np.matmul(a, b, out=d),
            "onnxruntime": onnx_op("MatMul", [a, b], (n, n), context.threads),
        },
        bytes=3 * a.nbytes,
        flops=2 * n**3,
        ceiling=ceiling,
        bound="flops",
    )


def gemm_bf16(context: Context) -> Iterator[Case]:
    """Beside the same product in f32: no peer has bf16. f32's ceiling isn't one for it."""
    n = context.size(2048)
    if not context.wants(f"gemm {n} bf16"):
        return
    a, b = random(n, n), random(n, n)
    a16, b16, c16, c = to_bf16(a), to_bf16(b), np.empty((n, n), "uint16"), np.empty_like(a)
    yield Case(
        "gemm",
        "bf16",
        [n, n, n],
        lambda: tw.gemm(a16, b16, out=c16, dtype="bf16"),
        {"tilewright f32": lambda: tw.gemm(a, b, out=c)},
        bytes=3 * a16.nbytes,
        flops=2 * n**3,
        tolerance=None,
    )


def batched_gemm(context: Context) -> Iterator[Case]:
    if not context.wants("batched_gemm"):
        return
    batch, n = 64, context.size(256)
    a, b, c, d = random(batch, n, n), random(batch, n, n), *np.empty((2, batch, n, n), "float32")
    yield Case(
        "batched_gemm",
        "f32",
        [batch, n, n, n],
        lambda: tw.batched_gemm(a, b, out=c),
        {
            "numpy": lambda: np.matmul(a, b, out=d),
            "onnxruntime": onnx_op("MatMul", [a, b], (batch, n, n), context.threads),
        },
        bytes=3 * a.nbytes,
        flops=2 * batch * n**3,
        ceiling=fma_peak(context.threads),
        bound="flops",
    )


def attention(context: Context) -> Iterator[Case]:
    """[batch, tokens, heads, 64], without and with a causal mask."""
    batch, heads, d = 2, 12, 64
    n = context.size(1024)
    q, k, v = (x.copy() for x in random(3, batch, n, heads, d))
    out = np.empty_like(q)
    for causal in (False, True):
        name = "attention causal" if causal else "attention"
        if not context.wants(name):
            continue
        flops = 4 * batch * heads * n * n * d // (2 if causal else 1)
        yield Case(
            name,
            "f32",
            list(q.shape),
            lambda causal=causal: tw.attention(q, k, v, causal=causal, out=out),
            {
                "numpy": lambda causal=causal: _numpy_attention(q, k, v, causal),
                "onnxruntime": _onnx_attention(q, k, v, causal, context.threads),
            },
            bytes=4 * q.nbytes,
            flops=flops,
            ceiling=fma_peak(context.threads),
            bound="flops",
        )


def _numpy_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> np.ndarray:
    n, d = q.shape[1], q.shape[3]
    s = q.transpose(0, 2, 1, 3) @ k.transpose(0, 2, 3, 1)
    s *= np.float32(d**-0.5)
    if causal:
        s += np.triu(np.full((n, n), -np.inf, "float32"), 1)
    s -= s.max(axis=-1, keepdims=True)
    np.exp(s, out=s)
    s /= s.sum(axis=-1, keepdims=True)
    return (s @ v.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)


def _onnx_attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool, threads: int
) -> object:
    """The standard's Attention, which has tokens before heads when the operands are of rank 3."""
    batch, n, heads, d = q.shape
    flat = [x.reshape(batch, n, heads * d) for x in (q, k, v)]
    graph = Graph()
    inputs = dict(zip("qkv", flat, strict=True))
    output = graph.op(
        "Attention", *inputs, is_causal=int(causal), q_num_heads=heads, kv_num_heads=heads
    )
    return onnx_call(graph, inputs, output, (batch, n, heads * d), threads)
