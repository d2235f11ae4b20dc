"""Transposes: bits move, and what doesn't fit is an AssertionError."""

import pytest
import torch

from tile_kernels.testing.numeric import assert_equal
from tile_kernels.transpose import batched_transpose, transpose

DTYPES = ["float8_e4m3fn", "bfloat16", "float32", "uint8", "int16", "int32", "float16"]


def bits(*shape: int, dtype: str) -> torch.Tensor:
    """All patterns of bits, those of NaN among them."""
    dtype = getattr(torch, dtype)
    return torch.randint(0, 256, (*shape, dtype.itemsize), dtype=torch.uint8).view(dtype)[..., 0]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m", [0, 64, 192])
def test_matrices(dtype: str, m: int) -> None:
    x = bits(m, 128, dtype=dtype).contiguous()
    assert_equal(transpose(x), x.T.contiguous())
    wide = bits(m, 256, dtype=dtype).contiguous()[:, :128]
    assert_equal(transpose(wide), wide.T.contiguous())


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "bfloat16", "float32"])
@pytest.mark.parametrize("batch", [0, 1, 3])
def test_batches(dtype: str, batch: int) -> None:
    x = bits(batch, 64, 192, dtype=dtype).contiguous()
    assert_equal(batched_transpose(x), x.transpose(1, 2).contiguous())
    wide = bits(batch, 64, 256, dtype=dtype).contiguous()[:, :, :192]
    assert_equal(batched_transpose(wide), wide.transpose(1, 2).contiguous())


def test_without_columns_nothing_is_asked_of_strides() -> None:
    assert transpose(torch.empty(64, 0)).shape == (0, 64)
    assert transpose(torch.empty(0, 64)).shape == (64, 0)
    assert batched_transpose(torch.empty(2, 64, 0)).shape == (2, 0, 64)
    assert batched_transpose(torch.empty(0, 64, 64)).shape == (0, 64, 64)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.empty(64, 65), "multiples of 64"),
        (torch.empty(63, 64), "multiples of 64"),
        (torch.empty(64, 64, dtype=torch.float64), "it must have 1, 2 or 4 bytes"),
        (torch.empty(64, 64).T, "its rows must be contiguous"),
        (torch.empty(64, 66)[:, :64], "a multiple of 4 elements apart"),
        (torch.empty(1, 64, 64), r"must be \[m, n\]"),
    ],
)
def test_what_is_no_matrix_is_refused(x: torch.Tensor, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        transpose(x)


def test_matrices_of_a_batch_follow_each_other() -> None:
    with pytest.raises(AssertionError, match="matrices must follow each other"):
        batched_transpose(torch.empty(2, 128, 64)[:, :64])
    assert batched_transpose(torch.zeros(1, 128, 64)[:, :64]).shape == (1, 64, 64)
    with pytest.raises(AssertionError, match=r"must be \[b, m, n\]"):
        batched_transpose(torch.empty(64, 64))
