"""Comparisons of results."""

import pytest
import torch

from tile_kernels.testing.numeric import assert_equal, calc_diff, check_bias, count_bytes

X = torch.tensor([[1.0, 2.0], [3.0, 0.0]])


@pytest.mark.parametrize(
    ("y", "what"),
    [
        (X.double(), "dtype"),
        (X[:1], "shape"),
        (X.T.contiguous().T, "strides"),
        (X + torch.tensor([[0, 0], [1e-6, 0]]), "first in element 2"),
        (X * torch.tensor([[1, 1], [1, -1]]), "first in element 3"),  # -0
    ],
)
def test_what_differs_is_said(y: torch.Tensor, what: str) -> None:
    with pytest.raises(AssertionError, match=what):
        assert_equal(X, y)


def test_equal_bytes_are_equal() -> None:
    nan = torch.tensor([float("nan"), 1.0])
    assert_equal(nan, nan.clone())
    assert_equal(X, X.T.contiguous().T, check_stride=False)
    assert_equal(X, X.view(torch.int32), check_dtype=False)
    assert_equal(X, X.reshape(4), check_shape=False, check_stride=False)
    assert_equal(torch.empty(0, 4), torch.empty(4, 0).T)
    assert_equal(torch.tensor(1.0), torch.tensor(1.0))
    assert_equal(torch.tensor([True]), torch.tensor([True]))


def test_calc_diff_is_relative() -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    diff = calc_diff(x, torch.tensor([1, 2, 3.003], dtype=torch.float64))
    assert diff.shape == () and float(diff) == pytest.approx(3.2122e-7, rel=1e-4)
    assert calc_diff(torch.zeros(3), torch.zeros(3)) == 0
    assert calc_diff(torch.empty(0), torch.empty(0)) == 0
    assert not calc_diff(torch.tensor([float("nan")]), torch.ones(1)) <= 1


def test_check_bias_wants_as_many_below_as_above() -> None:
    ref = torch.zeros(10000)
    signs = torch.ones(10000)
    signs[::2] = -1
    check_bias(signs, ref)
    check_bias(ref, ref)
    check_bias(torch.empty(0), torch.empty(0))
    with pytest.raises(AssertionError, match="lies below"):
        check_bias(ref - 1, ref)


def test_count_bytes_of_all_that_is_given() -> None:
    assert count_bytes(X, None, [X, (X.bfloat16(),)], X[:, :1]) == 16 + 16 + 8 + 8
    assert count_bytes() == 0
