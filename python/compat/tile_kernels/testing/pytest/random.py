"""Plugin: each test begins with a seed of its own, the same in every run."""

from __future__ import annotations

import hashlib
import random

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tile_kernels random numbers")
    group.addoption("--seed", type=int, default=0, help="added to the seed of each test")


@pytest.fixture(autouse=True)
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of this test, which Python's and torch's generators have got."""
    from ...rand import set_seed

    digest = hashlib.sha256(request.node.nodeid.encode()).digest()
    value = request.config.option.seed + int.from_bytes(digest, "big") % 2**31
    random.seed(value)
    set_seed(value)
    return value
