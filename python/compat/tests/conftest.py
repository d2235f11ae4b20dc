"""Without a GPU the tests run on tensors of the CPU."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tile_kernels import config

try:
    import torch
except ImportError:
    torch = None

if torch is None or not torch.cuda.is_available():
    os.environ.setdefault("TK_DEVICE", "cpu")

NEED_NO_TORCH = ("test_config.py", "test_exports.py", "test_utils.py")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    named = collection_path.name.startswith("test_")
    return True if torch is None and named and collection_path.name not in NEED_NO_TORCH else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if torch is None:
        terminalreporter.write_line("skipped: what takes tensors, because torch is not installed")


@pytest.fixture(autouse=True)
def default_config(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins and ends with the settings of a new process."""
    for name in ("TK_API_LEVEL", "TK_FULL_TEST", "TK_TEST_LEVEL", "TK_PRECOMPILE"):
        monkeypatch.delenv(name, raising=False)
    config.reset_runtime_config()
    yield
    config.reset_runtime_config()
