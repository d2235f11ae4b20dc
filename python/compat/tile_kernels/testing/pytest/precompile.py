"""Plugin: with TK_PRECOMPILE=1 only tests run whose parameters have a number of tokens; they fill
the cache of compiled kernels before a parallel run."""

from __future__ import annotations

import os

import pytest

_NAMES = {"num_tokens", "num_expanded_tokens", "num_send_tokens"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("TK_PRECOMPILE") != "1":
        return
    kept = [item for item in items if _has_tokens(item)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def _has_tokens(item: pytest.Item) -> bool:
    params = item.callspec.params if hasattr(item, "callspec") else {}
    inner = (name for value in params.values() if isinstance(value, dict) for name in value)
    return not _NAMES.isdisjoint([*params, *inner])
