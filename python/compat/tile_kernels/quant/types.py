"""Types of arguments."""

from torch import Tensor

QuantTensor = tuple[Tensor, Tensor]  # codes and their scale factors
