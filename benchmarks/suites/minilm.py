"""The embedding model of examples/minilm beside onnxruntime on the same graph, in f32."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from context import Case, Context
from onnx import TensorProto
from peers import Graph, onnx_call
from record import Record

sys.path.append(str(Path(__file__).parents[2] / "examples" / "minilm"))
from model import Model
from weights import Dense, Norm, Weights, load_weights


def run(context: Context) -> Iterator[Record]:
    """All texts have one length: no padding, which would be work for the peer alone."""
    batch, tokens = (4, 8) if context.quick else (32, 32)
    if not context.wants("embed"):
        return
    weights = load_weights()
    ids = np.random.default_rng(0).integers(1000, len(weights.words), (batch, tokens))
    texts = ids.tolist()
    model = Model(weights, "f32")
    peer = onnx_model(weights, ids, context.threads)
    yield context.measure(
        "minilm",
        Case(
            "embed",
            "f32",
            [batch, tokens],
            lambda: model.embed(texts),
            {"onnxruntime": peer},
            flops=batch * flops(weights, tokens),
        ),
    )


def flops(weights: Weights, tokens: int) -> int:
    """Of the products of one text."""
    hidden = weights.words.shape[1]
    dense = sum(2 * d.w.size for p in weights.layers for d in (p.qkv, p.out, p.up, p.down))
    return tokens * (dense + len(weights.layers) * 4 * tokens * hidden)


def onnx_model(weights: Weights, ids: np.ndarray, threads: int) -> object:
    """The forward pass as ONNX operations, of which onnxruntime fuses what it knows."""
    graph = Graph()
    batch, tokens = ids.shape
    hidden = weights.words.shape[1]
    heads = weights.heads

    def norm(x: str, p: Norm) -> str:
        w, b = graph.constant(p.w), graph.constant(p.b)
        return graph.op("LayerNormalization", x, w, b, epsilon=weights.eps)

    def dense(x: str, p: Dense) -> str:
        product = graph.op("MatMul", x, graph.constant(p.w))
        return graph.op("Add", product, graph.constant(p.b))

    def split(x: str, perm: list[int]) -> str:
        shape = graph.constant(np.array([batch, tokens, heads, hidden // heads]))
        return graph.op("Transpose", graph.op("Reshape", x, shape), perm=perm)

    def part(p: Dense, i: int) -> Dense:
        columns = slice(i * hidden, (i + 1) * hidden)
        return Dense(np.ascontiguousarray(p.w[:, columns]), p.b[columns])

    def attention(x: str, p: Dense) -> str:
        q, k, v = (dense(x, part(p, i)) for i in range(3))
        scores = graph.op("MatMul", split(q, [0, 2, 1, 3]), split(k, [0, 2, 3, 1]))
        scale = graph.constant(np.array((hidden // heads) ** -0.5, "float32"))
        shares = graph.op("Softmax", graph.op("Mul", scores, scale), axis=-1)
        seen = graph.op("MatMul", shares, split(v, [0, 2, 1, 3]))
        shape = graph.constant(np.array([batch, tokens, hidden]))
        return graph.op("Reshape", graph.op("Transpose", seen, perm=[0, 2, 1, 3]), shape)

    words = graph.op("Gather", graph.constant(weights.words), "ids")
    positions = graph.constant(np.ascontiguousarray(weights.positions[:tokens]))
    x = norm(graph.op("Add", words, positions), weights.norm)
    for layer in weights.layers:
        seen = attention(x, layer.qkv)
        x = norm(graph.op("Add", dense(seen, layer.out), x), layer.out_norm)
        up = graph.op("Gelu", dense(x, layer.up))
        x = norm(graph.op("Add", dense(up, layer.down), x), layer.down_norm)
    pooled = graph.op("ReduceMean", x, graph.constant(np.array([1])), keepdims=0)
    unit = graph.op("LpNormalization", pooled, axis=-1, p=2)
    inputs = {"ids": ids.astype("int64")}
    return onnx_call(graph, inputs, unit, (batch, hidden), threads, TensorProto.FLOAT)
