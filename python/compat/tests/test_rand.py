"""Standard normal tensors."""

import pytest
import torch

from tile_kernels import config, rand
from tile_kernels.testing.numeric import assert_equal


@pytest.mark.parametrize("size", [(), (0,), (7,), (3, 5), ((3, 5),), (torch.Size([2, 9]),)])
@pytest.mark.parametrize("dtype", [None, torch.float32, torch.bfloat16])
def test_they_are_those_of_torch(size: tuple, dtype: torch.dtype | None) -> None:
    rand.set_seed(3)
    found = rand.randn(*size, dtype=dtype)
    after = torch.get_rng_state()
    torch.manual_seed(3)
    shape = size[0] if size and isinstance(size[0], tuple) else size
    assert_equal(found, torch.randn(shape, dtype=dtype, device=config.get_device()))
    assert torch.equal(after, torch.get_rng_state())


def test_a_seed_repeats_and_calls_differ() -> None:
    rand.set_seed(1)
    first, second = rand.randn(100), rand.randn(100)
    rand.set_seed(1)
    assert_equal(rand.randn(100), first)
    assert not torch.equal(first, second)


def test_like_another_tensor_and_contiguous() -> None:
    x = torch.empty(6, 4, dtype=torch.bfloat16).T
    y = rand.randn_like(x)
    assert y.shape == x.shape and y.dtype == x.dtype and y.is_contiguous()


def test_a_list_is_no_size() -> None:
    with pytest.raises(TypeError):
        rand.randn([2, 3])
