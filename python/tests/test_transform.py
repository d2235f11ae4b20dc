"""The rotary embedding on numpy arrays and tensors of torch, beside numpy."""

import re

import ml_dtypes
import numpy as np
import pytest

from tilewright import transform


def rotated(
    x: np.ndarray, table: np.ndarray, positions: np.ndarray, interleaved: bool, conjugate: bool
) -> np.ndarray:
    """In f64: to the last bits of f32."""
    half = x.shape[-1] // 2
    first, second = (
        (slice(0, None, 2), slice(1, None, 2))
        if interleaved
        else (slice(0, half), slice(half, None))
    )
    c, s = np.split(table[positions].astype("float64")[..., None, :], 2, axis=-1)
    s = -s if conjugate else s
    u, v = x[..., first].astype("float64"), x[..., second].astype("float64")
    out = np.empty(x.shape)
    out[..., first], out[..., second] = u * c - v * s, u * s + v * c
    return out


def difference(x: np.ndarray, y: np.ndarray) -> float:
    x, y = x.astype("float64"), y.astype("float64")
    return ((x - y) ** 2).sum() / max((x**2 + y**2).sum(), 1e-300)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("d", [64, 128])
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("conjugate", [False, True])
def test_apply_rotary(dtype: type, d: int, interleaved: bool, conjugate: bool) -> None:
    random = np.random.default_rng(1)
    table = random.standard_normal((60, d), "float32")
    buffers = [random.standard_normal((2, 33, h, d + 16), "float32").astype(dtype) for h in (5, 1)]
    for positions in (None, random.integers(0, 40, (2, 33), "int32")):
        query, key = (b.copy()[..., -d:] for b in buffers)
        at = np.broadcast_to(np.arange(33), (2, 33)) if positions is None else positions
        wanted = [rotated(x, table, at + 17, interleaved, conjugate) for x in (query, key)]
        found = transform.apply_rotary(
            query, table, key, positions, interleaved, conjugate, seqlen_offset=17
        )
        assert found is None
        for x, y in zip((query, key), wanted, strict=True):
            assert difference(x, y.astype(dtype)) <= 1e-8
    flat = np.ascontiguousarray(buffers[0][0, :, :, :d])
    wanted_flat = rotated(flat, table, np.arange(33), interleaved, conjugate).astype(dtype)
    transform.apply_rotary(flat, table, interleaved=interleaved, conjugate=conjugate)
    assert difference(flat, wanted_flat) <= 1e-8


@pytest.mark.parametrize("first", [0, 32])
def test_other_columns_do_not_change(first: int) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.randn(17, 3, 96).to(torch.bfloat16)
    table, before = torch.randn(17, 64), x.clone()
    transform.apply_rotary(x[..., first : first + 64], table)
    rest = [j for j in range(96) if not first <= j < first + 64]
    assert torch.equal(x[..., rest], before[..., rest])
    assert not torch.equal(x[..., first], before[..., first])


def test_nothing_to_rotate() -> None:
    table = np.zeros((4, 64), "float32")
    for shape in ((0, 3, 64), (3, 0, 64), (0, 3, 2, 64)):
        transform.apply_rotary(np.zeros(shape, "float32"), table)
    x, y = np.ones((3, 2, 64), "float32"), np.ones((3, 2, 64), "float32")
    transform.apply_rotary(x, table, np.zeros((3, 0, 64), "float32"))
    transform.apply_rotary(np.zeros((3, 0, 64), "float32"), table, y)
    assert not x.any() and not y.any()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"query": np.zeros((3, 2, 96), "float32")}, ValueError, "must have 64 or 128 elements"),
        ({"query": np.zeros((3, 64), "float32")}, ValueError, "it must be [t, heads, d]"),
        ({"query": np.zeros((3, 2, 64))}, TypeError, "it must be f32 or bf16"),
        ({"cos_sin_cache": np.zeros((9, 128), "float32")}, ValueError, "it must be [9, 64]"),
        ({"key": np.zeros((4, 2, 64), "float32")}, ValueError, "it must be [3, 2, 64] like x"),
        ({"key": np.zeros((3, 2, 64), ml_dtypes.bfloat16)}, TypeError, "key is bf16"),
        ({"key": np.zeros((1, 3, 2, 64), "float32")}, ValueError, "it must have 3 dimensions"),
        ({"positions": np.zeros(4, "int32")}, ValueError, "it must be [3] like tokens of x"),
        ({"positions": np.zeros(3, "float32")}, TypeError, "it must be i32 or i64"),
        ({"seqlen_offset": 1.5}, TypeError, "incompatible function arguments"),
    ],
)
def test_what_does_not_fit(change: dict, error: type, message: str) -> None:
    query = np.ones((3, 2, 64), "float32")
    arguments = {"query": query, "cos_sin_cache": np.ones((9, 64), "float32"), **change}
    with pytest.raises(error, match=re.escape(message)):
        transform.apply_rotary(**arguments)
    assert (query == 1).all()
