"""The functions of tilewright as operators of this package: `_native.moe.topk_gate(scores, 8)`.

A function is looked up when it is first called. It takes tensors with gradients, which the
operators don't have, and what it says of bad arguments becomes an AssertionError.
"""

from collections.abc import Callable
from importlib import import_module


class _Family:
    """The functions of a module of tilewright, each an attribute from its first use on."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Callable:
        from tilewright._tilewright import detached

        function = detached(getattr(import_module(self._module), name), AssertionError)
        setattr(self, name, function)
        return function


tilewright = _Family("tilewright")
moe = _Family("tilewright.moe")
quant = _Family("tilewright.quant")
transform = _Family("tilewright.transform")


def require(condition: bool, message: str) -> None:
    """Checks that are this package's alone; they hold under `python -O`, too.

    In calls that are frequent an `if` stands in its place where the message takes its time.
    """
    if not condition:
        raise AssertionError(message)
