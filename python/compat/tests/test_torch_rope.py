"""The reference of the rotary embedding."""

import pytest
import torch

from tile_kernels.testing.numeric import assert_equal
from tile_kernels.torch import rotary_embedding_ref

X = torch.tensor([1.0, 2, 3, 4]).view(1, 1, 4)
COS, SIN = torch.tensor([[0.5403023, 0.9950042]]), torch.tensor([[0.8414710, 0.0998334]])


@pytest.mark.parametrize(
    ("interleaved", "conjugate", "wanted"),
    [
        (False, False, [-1.9841108, 1.5906748, 2.4623778, 4.1796837]),
        (False, True, [3.0647154, 2.3893418, 0.7794358, 3.7803500]),
        (True, False, [-1.1426398, 1.9220755, 2.5856791, 4.2795165]),
        (True, True, [2.2232442, 0.2391335, 3.3843460, 3.6805165]),
    ],
)
def test_pairs(interleaved: bool, conjugate: bool, wanted: list[float]) -> None:
    found = rotary_embedding_ref(X, COS, SIN, interleaved=interleaved, conjugate=conjugate)
    assert torch.allclose(found, torch.tensor(wanted).view(1, 1, 4), rtol=1e-6)
    if not interleaved and not conjugate:
        half = rotary_embedding_ref(X.bfloat16(), COS, SIN)
        assert half.dtype == torch.bfloat16
        assert half.flatten().tolist() == [-1.984375, 1.59375, 2.46875, 4.1875]


def test_positions_choose_rows_and_broadcast() -> None:
    cos, sin = torch.randn(20, 3), torch.randn(20, 3)
    x = torch.randn(2, 5, 4, 8)
    plain = rotary_embedding_ref(x, cos, sin, seqlen_offsets=4)
    row = torch.arange(4, 9, dtype=torch.int32)
    assert_equal(rotary_embedding_ref(x, cos, sin, positions=row), plain)
    assert_equal(rotary_embedding_ref(x, cos, sin, positions=row.long().expand(2, 5)), plain)
    assert_equal(plain[..., 6:], x[..., 6:])
    flat = rotary_embedding_ref(x.flatten(0, 1), cos, sin, positions=row.repeat(2))
    assert_equal(flat.view_as(plain), plain)
    back = rotary_embedding_ref(plain, cos, sin, seqlen_offsets=4, conjugate=True)
    lengths = (cos**2 + sin**2)[4:9].repeat(1, 2)[None, :, None]
    assert torch.allclose(back[..., :6], x[..., :6] * lengths, rtol=1e-4, atol=1e-5)
    assert rotary_embedding_ref(x[:, :0], cos, sin).shape == (2, 0, 4, 8)
