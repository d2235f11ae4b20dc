"""Plugin: with -n and -x the first failure ends the session as soon as that test is torn down."""

from __future__ import annotations

import _thread
import threading

import pytest

from .common import is_worker

_PATIENCE_S = 10.0


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    option = config.option
    if is_worker(config) or not getattr(option, "numprocesses", None) or option.maxfail != 1:
        return
    option.maxfail = 0  # pytest-xdist would not wait for the teardown
    option.maxworkerrestart = "0"
    config.pluginmanager.register(_FailFast(), "tile_kernels fail fast")


class _FailFast:
    """In the controller."""

    def __init__(self) -> None:
        self.failed: str | None = None
        self.timer = threading.Timer(_PATIENCE_S, _thread.interrupt_main)
        self.timer.daemon = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.failed is None:
            self.failed = report.nodeid
            self.timer.start()
        if report.nodeid == self.failed and report.when not in ("setup", "call"):
            self.interrupt()  # torn down, or its worker crashed

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, error: object) -> None:
        if error:
            self.interrupt()

    def interrupt(self) -> None:
        self.timer.cancel()
        raise KeyboardInterrupt(f"first failure: {self.failed}")
