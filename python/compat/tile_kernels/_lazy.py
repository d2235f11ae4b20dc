"""Modules that are loaded when they are first asked for."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any


def lazy(package: str, modules: Sequence[str], members: dict[str, str] | None = None) -> Callable:
    """The `__getattr__` of a package with these submodules, and `members` of some of them."""
    members = members or {}

    def find(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name in members:
            return getattr(import_module(f"{package}.{members[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find
