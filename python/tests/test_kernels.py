"""Functions of the library beside their formulas in float64."""

import ml_dtypes
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw

TOLERANCE = {np.dtype("float32"): 2e-6, np.dtype("float16"): 1e-3}
# 0, 1, sizes that divide nothing, and one that fills vectors.
SHAPES = [(0, 8), (1, 1), (3, 7), (5, 33), (16, 64)]


def random(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def expect_close(found: np.ndarray, wanted: np.ndarray, scale: float = 1.0) -> None:
    tolerance = scale * TOLERANCE[found.dtype]
    np.testing.assert_allclose(found.astype("float64"), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_norms_agree_with_their_formulas(shape: tuple[int, int], dtype: str) -> None:
    x, w, b = random(shape, dtype), random(shape[1:], dtype, 1), random(shape[1:], dtype, 2)
    expect_close(tw.rms_norm(x, w, 1e-5), reference.rms_norm(x, w, 1e-5), 4)
    expect_close(tw.softmax(x, 0.5), reference.softmax(x, 0.5), 4)
    if shape[1] > 1:  # the variance of one element is 0, and 1 / sqrt(eps) magnifies rounding
        expect_close(tw.layer_norm(x, w, b), reference.layer_norm(x, w, b, 1e-5), 16)


@settings(max_examples=25, deadline=None)
@given(m=st.integers(0, 20), n=st.integers(1, 40), k=st.integers(1, 40), seed=st.integers(0, 99))
def test_gemm_agrees_for_any_shape(m: int, n: int, k: int, seed: int) -> None:
    a, b = random((m, k), seed=seed), random((k, n), seed=seed + 1)
    expect_close(tw.gemm(a, b), reference.gemm(a, b), k)


@pytest.mark.parametrize("activation", ["none", "relu", "gelu", "gelu_tanh", "silu"])
def test_gemm_has_bias_activation_and_residual(activation: str) -> None:
    a, b, bias, residual = random((5, 9)), random((11, 9)), random((11,)), random((5, 11))
    found = tw.gemm(a, b, trans_b=True, activation=activation, bias=bias, residual=residual)
    wanted = reference.ACTIVATIONS[activation](reference.gemm(a, b.T) + bias) + residual
    expect_close(found, wanted, 9)


@pytest.mark.parametrize("name", ["relu", "gelu", "gelu_tanh", "silu"])
def test_activations_take_any_shape(name: str) -> None:
    for shape in [(0,), (7,), (3, 5, 9)]:
        x = random(shape)
        wanted = reference.ACTIVATIONS[name](x.astype("float64")) if x.size else x
        expect_close(getattr(tw, name)(x), wanted, 4)


def test_gated_activation_multiplies() -> None:
    gate, x = random((4, 33)), random((4, 33), seed=1)
    expect_close(tw.silu_mul(gate, x), reference.ACTIVATIONS["silu"](gate) * x, 8)
    expect_close(tw.sigmoid(x), 1 / (1 + np.exp(-x.astype("float64"))), 4)


def test_gemm_takes_a_transposed_and_an_output_dtype() -> None:
    a, b = random((9, 5), "float16"), random((9, 11), "float16")
    found = tw.gemm(a, b, trans_a=True, out_dtype="f32")
    assert found.dtype == np.float32
    expect_close(found, reference.gemm(a.T, b), 16)


def test_batched_gemm_is_gemm_of_each_entry() -> None:
    a, b = random((3, 5, 9)), random((3, 9, 4), seed=1)
    expect_close(tw.batched_gemm(a, b), reference.gemm(a, b), 9)


@pytest.mark.parametrize("shape", [(0, 8), (3, 40), (130, 200)])
def test_casts_to_e4m3_have_a_scale_for_each_group_or_block(shape: tuple[int, int]) -> None:
    x = random(shape)
    codes, sf = tw.per_token_cast(x, "e4m3", 32)
    assert codes.dtype == ml_dtypes.float8_e4m3fn
    scale = np.repeat(sf, 32, axis=1)[:, : shape[1]]
    np.testing.assert_allclose(codes.astype("float32") * scale, x, rtol=2**-4, atol=1e-2)
    codes, sf = tw.per_block_cast(x, "e4m3", (128, 128), round_sf=True)
    assert (np.log2(sf) == np.round(np.log2(sf))).all()
    scale = np.kron(sf, np.ones((128, 128)))[: shape[0], : shape[1]]
    np.testing.assert_allclose(codes.astype("float32") * scale, x, rtol=2**-4, atol=1e-2)


def test_gemm_fp8_multiplies_what_the_casts_give() -> None:
    a, b = random((5, 160)), random((140, 160), seed=1)
    codes_a, sf_a = tw.per_token_cast(a, "e4m3", 128)
    codes_b, sf_b = tw.per_block_cast(b, "e4m3", (128, 128))
    values_a = codes_a.astype("float64") * np.repeat(sf_a, 128, axis=1)[:, :160]
    values_b = codes_b.astype("float64") * np.kron(sf_b, np.ones((128, 128)))[:140, :160]
    expect_close(tw.gemm_fp8(codes_a, sf_a, codes_b, sf_b), values_a @ values_b.T, 160)


def test_cast_rounds_like_ml_dtypes() -> None:
    x = random((7, 33))
    np.testing.assert_array_equal(tw.cast(x, "bf16"), x.astype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(tw.cast(x, "f16"), x.astype("float16"))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_agrees_with_grouped_heads(causal: bool) -> None:
    q, k, v = random((2, 5, 4, 16)), random((2, 7, 2, 16), seed=1), random((2, 7, 2, 16), seed=2)
    lengths = np.array([7, 3], "int32")
    found, lse = tw.attention(q, k, v, causal=causal, key_lengths=lengths, return_lse=True)
    wanted, wanted_lse = reference.attention(q, k, v, causal, lengths)
    expect_close(found, wanted, 8)
    np.testing.assert_allclose(lse, wanted_lse, rtol=1e-5, atol=1e-5)


def test_packed_attention_is_attention_of_each_sequence() -> None:
    q, k, v = (random((9, 2, 16), seed=i) for i in range(3))
    bounds = np.array([0, 4, 4, 9], "int32")
    found = tw.attention_packed(q, k, v, bounds, 5)
    for begin, end in [(0, 4), (4, 9)]:
        each = [t[None, begin:end] for t in (q, k, v)]
        expect_close(found[begin:end], reference.attention(*each)[0][0], 8)


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int32"])
def test_gather_copies_rows_and_zeros_what_is_outside(dtype: str) -> None:
    table = (10 * random((6, 5))).astype(dtype)
    found = tw.gather_rows(table, np.array([5, 0, 6, -1, 2], "int64"))
    assert found.dtype == table.dtype
    np.testing.assert_array_equal(found[[0, 1, 4]], table[[5, 0, 2]])
    assert not found[2:4].any()


def test_scatter_adds_rows_and_leaves_out_what_is_outside() -> None:
    x, out = random((5, 7)), np.ones((3, 7), "float32")
    index = np.array([2, 0, 2, -1, 3])
    assert tw.scatter_add_rows(x, index, out=out) is out
    expect_close(out, 1 + np.stack([x[1], np.zeros(7), x[0] + x[2]]), 4)


@pytest.mark.parametrize("shape", SHAPES)
def test_folds_of_rows_agree_with_numpy(shape: tuple[int, int]) -> None:
    x = random(shape)
    expect_close(tw.sum(x), x.sum(1), shape[1])
    np.testing.assert_array_equal(tw.max(x), x.max(1))
    np.testing.assert_array_equal(tw.argmax(x), x.argmax(1))
    expect_close(tw.cumsum(x), x.cumsum(1), shape[1])
    assert tw.sum(x.astype("float16"), out_dtype="f32").dtype == np.float32
    k = min(4, shape[1])
    values, indices = tw.top_k(x, k)
    order = np.argsort(-x, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


def test_max_and_argmax_ignore_nan_unless_asked() -> None:
    x = np.array([[1, np.nan, 3, 3]], "float32")
    assert tw.max(x)[0] == 3 and tw.argmax(x)[0] == 2
    assert np.isnan(tw.max(x, propagate_nan=True)[0])


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "int64"])
def test_moves_keep_elements(dtype: str) -> None:
    x = (100 * np.abs(random((3, 40, 33)))).astype("uint8").astype(dtype)
    np.testing.assert_array_equal(tw.transpose(x), x.transpose(0, 2, 1))
    np.testing.assert_array_equal(tw.transpose(x[0]), x[0].T)
    np.testing.assert_array_equal(tw.copy(x[:, ::2, 5:20]), x[:, ::2, 5:20])


def test_elementwise_functions_broadcast() -> None:
    a, b = random((3, 4, 33)), random((4, 1), seed=1)
    np.testing.assert_array_equal(tw.add(a, b), a + b)
    np.testing.assert_array_equal(tw.mul(b, a), a * b)
    np.testing.assert_array_equal(tw.add_relu(a, b), np.maximum(a + b, 0))
    silu = reference.ACTIVATIONS["silu"]
    expect_close(
        tw.silu_and_mul(random((5, 66))), silu(random((5, 66))[:, :33]) * random((5, 66))[:, 33:], 8
    )
    with pytest.raises(ValueError, match=r"add: b is f32 \[4, 1\], it doesn't broadcast"):
        tw.add(random((5, 3)), b)


def test_residual_norms_are_norms_of_the_sum() -> None:
    x, residual, w, b = random((5, 33)), random((5, 33), seed=1), random((33,)), random((33,))
    y, total = tw.residual_rms_norm(x, residual, w)
    np.testing.assert_array_equal(total, x + residual)
    expect_close(y, reference.rms_norm(x + residual, w, 1e-6), 8)
    y, total = tw.residual_layer_norm(x, residual, w, b, out=x, sum=residual)
    assert y is x and total is residual
    expect_close(y, reference.layer_norm(total, w, b, 1e-5), 16)


def test_pool_means_each_sequence() -> None:
    x, bounds = random((7, 10)), np.array([0, 3, 3, 7], "int32")
    wanted = np.stack([x[:3].mean(0), np.zeros(10), x[3:].mean(0)])
    expect_close(tw.masked_mean_pool(x, bounds), wanted, 4)
    unit = tw.masked_mean_pool(x, bounds, l2_normalize=True)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), [1, 0, 1], rtol=1e-5)
