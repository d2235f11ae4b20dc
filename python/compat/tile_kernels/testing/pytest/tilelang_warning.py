"""Plugin: warnings of the compiler in the output of tests, once each, at the end. The name is that
of the plugin in the existing package."""

from __future__ import annotations

import re

import pytest

_WARNING = re.compile(r"^.*\bwarning\[W-[A-Z0-9-]+\].*$", re.MULTILINE)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Collector(), "tile_kernels compiler warnings")


class _Collector:
    def __init__(self) -> None:
        self.found: dict[str, dict[str, None]] = {}  # by test, in the order of their appearance

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for text in (report.capstdout, report.capstderr):
            for line in _WARNING.findall(text):
                self.found.setdefault(report.nodeid, {})[line.strip()] = None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.found:
            return
        terminalreporter.section("Compiler Warnings")
        for nodeid, lines in self.found.items():
            terminalreporter.write_line(nodeid)
            for line in lines:
                terminalreporter.write_line("  " + line)
