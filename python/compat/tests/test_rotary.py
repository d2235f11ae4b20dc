"""apply_rotary beside its reference; and what it refuses."""

import pytest
import torch

from tile_kernels import config
from tile_kernels.testing.numeric import assert_equal, calc_diff
from tile_kernels.torch import rotary_embedding_ref
from tile_kernels.transform import apply_rotary

DEVICE = config.get_device()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("d", [64, 128])
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("conjugate", [False, True])
def test_heads_are_rotated(dtype: torch.dtype, d: int, interleaved: bool, conjugate: bool) -> None:
    torch.manual_seed(d)
    table = torch.randn(300, d, device=DEVICE)
    half = {"interleaved": interleaved, "conjugate": conjugate}
    for shape, heads, offset in [((17,), 5, 0), ((2, 9), 3, 17), ((0,), 2, 0), ((4,), 0, 1)]:
        wide = torch.randn(*shape, heads, d + 32, device=DEVICE).to(dtype)
        key = torch.randn(*shape, 1, d, device=DEVICE).to(dtype)
        positions = torch.randint(0, 280, shape, device=DEVICE)
        for where in (None, positions, positions.int()):
            buffer, k = wide.clone(), key.clone()
            query = buffer[..., 32:]
            wanted = [
                rotary_embedding_ref(
                    t, table[:, : d // 2], table[:, d // 2 :], where, offset, **half
                )
                for t in (query.clone(), k)
            ]
            assert apply_rotary(query, table, k, where, **half, seqlen_offset=offset) is None
            assert calc_diff(query, wanted[0]) <= 1e-8 and calc_diff(k, wanted[1]) <= 1e-8
            assert_equal(buffer[..., :32], wide[..., :32])


Q, TABLE = torch.zeros(6, 2, 64, device=DEVICE), torch.zeros(6, 64, device=DEVICE)


@pytest.mark.parametrize(
    "change",
    [
        {"key": Q[:5]}, {"key": Q[:5], "positions": torch.zeros(6, device=DEVICE).long()},
        {"query": Q[0]}, {"query": Q.double()}, {"query": Q[..., :32]},
        {"cos_sin_cache": TABLE.double()}, {"cos_sin_cache": TABLE[:, :32]},
        {"key": Q.bfloat16()}, {"positions": torch.zeros(5, device=DEVICE).long()},
        {"positions": torch.zeros(6, device=DEVICE)}, {"seqlen_offset": 0.5},
    ],
)  # fmt: skip
def test_what_does_not_fit_is_an_assertion(change: dict) -> None:
    with pytest.raises((AssertionError, RuntimeError), match="apply_rotary"):
        apply_rotary(**{"query": Q, "cos_sin_cache": TABLE, **change})
