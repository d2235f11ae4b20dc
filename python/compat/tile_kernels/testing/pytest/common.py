"""Where tests and their records lie, and how new records replace old ones."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

_MERGE_MODES = ("overwrite", "replace", "fill")


def get_tests_dir() -> Path:
    """The root of relative paths: TK_TESTS_DIR or TK_BENCHMARK_TESTS_DIR; else the folder `tests`
    where pytest was started, else that place itself."""
    named = os.environ.get("TK_TESTS_DIR") or os.environ.get("TK_BENCHMARK_TESTS_DIR")
    if named:
        return Path(named).resolve()
    here = Path.cwd()
    return here / "tests" if (here / "tests").is_dir() else here


def item_source_file(item: pytest.Item) -> str | None:
    """The path of a test's file from the root on; None outside of it."""
    root, path = get_tests_dir(), Path(item.path).resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else None


def merge_mode() -> str:
    """TK_TEST_MERGE_MODE: 'overwrite', 'replace' (also what isn't known) or 'fill'."""
    mode = os.environ.get("TK_TEST_MERGE_MODE", "replace")
    return mode if mode in _MERGE_MODES else "replace"


def validate_merge_mode() -> None:
    """What isn't known is an error before records are written."""
    mode = os.environ.get("TK_TEST_MERGE_MODE", "replace")
    if mode not in _MERGE_MODES:
        raise pytest.UsageError(f"TK_TEST_MERGE_MODE is {mode!r}, none of {_MERGE_MODES}")


def is_worker(config: pytest.Config) -> bool:
    """Whether this process runs tests for a controller of pytest-xdist."""
    return hasattr(config, "workerinput")


def share_output(config: pytest.Config, name: str, wanted: bool) -> None:
    """Makes option `name` the path of an empty file that all processes append to: the one that was
    given, or a temporary one if it's `wanted`, which lives as long as the session."""
    if is_worker(config):
        setattr(config.option, name, config.workerinput[name])
        return
    path = getattr(config.option, name)
    if path is None and wanted:
        handle, path = tempfile.mkstemp(suffix=".jsonl")
        os.close(handle)
        config.add_cleanup(lambda: Path(path).unlink(missing_ok=True))
    if path is not None:
        path = str(Path(path).resolve())
        Path(path).write_text("")
    setattr(config.option, name, path)


def tell_worker(node: Any, name: str) -> None:
    """Hands that path to a worker that starts."""
    node.workerinput[name] = getattr(node.config.option, name)
