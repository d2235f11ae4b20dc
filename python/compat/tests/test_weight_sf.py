"""batched_transpose_weight_sf, bit for bit beside the reference; and what it refuses."""

import pytest
import torch

from tile_kernels import config
from tile_kernels import torch as reference
from tile_kernels.quant import batched_transpose_weight_sf
from tile_kernels.testing.numeric import assert_equal

DEVICE = config.get_device()


def powers(*shape: int) -> torch.Tensor:
    return 2.0 ** torch.randint(-20, 20, shape, device=DEVICE).float()


@pytest.mark.parametrize("block", [32, 128])
def test_lists_of_weights(block: int) -> None:
    torch.manual_seed(block)
    shapes = [(128, 256), (3, 384, 128), (640, 2048), (1, 128, 128)]
    sf = [powers(*s[:-2], s[-2] // block, s[-1] // block) for s in shapes]
    flags = [False, True, True, False]
    outs = [None] * len(sf)
    for _ in range(2):  # the second time into what the first one made
        found = batched_transpose_weight_sf(sf, block, flags, outs)
        wanted = reference.batched_transpose_weight_sf(sf, block, flags)
        for pair, other in zip(found, wanted, strict=True):
            for x, y in zip(pair, other, strict=True):
                assert_equal(x, y)
        outs, sf = [found[0], None, *found[2:]], [powers(*t.shape) for t in sf]
    assert batched_transpose_weight_sf([], block, [], []) == []


@pytest.mark.skipif(DEVICE != "cpu", reason="a fault of the device ends its use")
def test_factors_are_powers_of_two() -> None:
    with pytest.raises(RuntimeError):
        batched_transpose_weight_sf([powers(4, 4) * 1.5], 32, [False], [None])


SF = powers(4, 4)


@pytest.mark.parametrize(
    "arguments",
    [
        ([SF], 64, [False], [None]), ([SF], 32, [], [None]), ([SF], 32, [False], []),
        ([SF.double()], 32, [False], [None]), ([SF[0]], 32, [False], [None]),
        ([SF[:3]], 32, [False], [None]), ([SF.T[:, ::2]], 32, [False], [None]),
        ([SF], 32, [False], [(SF, SF)]),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_assertion(arguments: tuple) -> None:
    with pytest.raises((AssertionError, RuntimeError), match="batched_transpose_weight_sf"):
        batched_transpose_weight_sf(*arguments)
