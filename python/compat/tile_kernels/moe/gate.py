"""Which experts each token goes to, and with what weights."""

from torch import Tensor

from .. import _native
from .._level import is_v1


def topk_gate(scores: Tensor, num_topk: int) -> Tensor:
    """Indices of the largest scores of each row, the best first."""
    return _native.moe.topk_gate(scores, num_topk)


def normalize_weight(topk_weights: Tensor) -> tuple[Tensor, Tensor]:
    """The sum of each row, and the row divided by it. v1 has rows of more than 32, too."""
    return _native.moe.normalize_weight(topk_weights, wide_rows=is_v1())
