"""Casts of elements beside those of torch."""

import pytest
import torch

from tile_kernels import config
from tile_kernels.quant import cast
from tile_kernels.testing.numeric import assert_equal, check_bias
from tile_kernels.testing.quant import quant_level_rank

DEVICE = config.get_device()
DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float8_e5m2]
LARGEST = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_pairs(source: torch.dtype, target: torch.dtype) -> None:
    torch.manual_seed(0)
    for shape in [(0,), (1,), (3,), (128,), (8, 257), (2, 3, 5), (2, 1, 3, 4)]:
        x = (torch.randn(shape, device=DEVICE) * 2.0 ** torch.randint(-20, 15, shape)).to(source)
        wide = x.float()
        if target in LARGEST:
            wide = wide.clamp(-LARGEST[target], LARGEST[target])
        finite = wide.where(wide.isfinite(), torch.ones(()))
        found = cast(finite.to(source), target)
        assert_equal(found, finite.to(source).float().to(target))


@pytest.mark.parametrize("target", LARGEST)
def test_the_largest_code_is_the_limit(target: torch.dtype) -> None:
    x = torch.tensor([torch.inf, -torch.inf, 1e6, -0.0, torch.nan], device=DEVICE)
    found = cast(x, target).float().tolist()
    most = LARGEST[target]
    assert found[:3] == [most, -most, most] and str(found[3]) == "-0.0" and found[4] != found[4]


@pytest.mark.parametrize(
    ("x", "dtype", "message"),
    [
        (torch.zeros(4, 4, device=DEVICE).T[1:], torch.bfloat16, "not contiguous"),
        (torch.zeros(4, device=DEVICE).double(), torch.bfloat16, "x is torch.float64"),
        (torch.zeros(4, device=DEVICE), torch.int8, "dtype is torch.int8"),
    ],
)
def test_what_does_not_fit_is_an_assertion(
    x: torch.Tensor, dtype: torch.dtype, message: str
) -> None:
    with pytest.raises(AssertionError, match=message):
        cast(x, dtype)


PAIRS = [
    (torch.float32, torch.bfloat16, "bf16"),
    (torch.float32, torch.float8_e4m3fn, "e4m3"),
    (torch.bfloat16, torch.float8_e4m3fn, "e4m3"),
]


@pytest.mark.parametrize(("source", "target", "fmt"), PAIRS)
def test_stochastic_rounding(source: torch.dtype, target: torch.dtype, fmt: str) -> None:
    torch.manual_seed(1)
    for shape in [(0,), (4,), (128,), (8, 256), (2, 3, 4, 1), (1 << 18,)]:
        x = torch.randn(shape, device=DEVICE).to(source)
        found = cast(x, target, stochastic_rounding=True)
        assert found.dtype == target and found.shape == x.shape
        nearest = cast(x, target)
        apart = quant_level_rank(found, fmt) - quant_level_rank(nearest, fmt)
        assert (apart.abs() <= 1).all()
        check_bias(found.float(), x.float())
        assert_equal(cast(x, target, True), found)
        assert_equal(cast(nearest.to(source), target, True), nearest)


@pytest.mark.parametrize(
    ("x", "dtype"),
    [
        (torch.zeros(5, device=DEVICE), torch.bfloat16),
        (torch.zeros(4, device=DEVICE).half(), torch.bfloat16),
        (torch.zeros(4, device=DEVICE), torch.float16),
        (torch.zeros(4, device=DEVICE).bfloat16(), torch.bfloat16),
    ],
)
def test_what_is_not_rounded_at_random(x: torch.Tensor, dtype: torch.dtype) -> None:
    with pytest.raises(AssertionError, match="stochastic_cast"):
        cast(x, dtype, stochastic_rounding=True)
