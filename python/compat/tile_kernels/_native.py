"""The functions of tilewright as operators of this package: `_native.moe.topk_gate(scores, 8)`.

A function is looked up when it is first called. It gets tensors without their gradients, which the
operators don't have, and what it says of bad arguments becomes an AssertionError.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch


class _Family:
    """The functions of a module of tilewright, each an attribute from its first use on."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Callable:
        function = _asserting(getattr(import_module(self._module), name))
        setattr(self, name, function)
        return function


def _detached(argument: Any) -> Any:
    if isinstance(argument, torch.Tensor):
        return argument.detach() if argument.requires_grad else argument
    if isinstance(argument, (tuple, list)):
        return type(argument)(map(_detached, argument))
    return argument


def _asserting(function: Callable) -> Callable:
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(
                *map(_detached, args), **{key: _detached(value) for key, value in kwargs.items()}
            )
        except (ValueError, TypeError, BufferError) as error:
            raise AssertionError(str(error)) from error

    return call


tilewright = _Family("tilewright")
moe = _Family("tilewright.moe")
quant = _Family("tilewright.quant")
transform = _Family("tilewright.transform")


def require(condition: bool, message: str) -> None:
    """Checks that are this package's alone; they hold under `python -O`, too."""
    if not condition:
        raise AssertionError(message)
