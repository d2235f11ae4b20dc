"""The other plugins, in sessions of their own."""

import json
import sys

import pytest

# Imported here, so that sessions in this process find the same modules.
from tile_kernels.testing.pytest import (  # noqa: F401
    gpu_mem,
    precompile,
    random,
    tilelang_warning,
    xdist_failfast,
)

pytest_plugins = ["pytester"]

try:
    import xdist
except ImportError:
    xdist = None


@pytest.fixture(autouse=True)
def own_tests_dir(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TK_TESTS_DIR", "TK_BENCHMARK_TESTS_DIR", "TK_TEST_MERGE_MODE",
                 "TK_GPU_MEM_PROFILES_DIR"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


def use(pytester: pytest.Pytester, plugin: str, further: str = "") -> None:
    pytester.makeconftest(f"pytest_plugins = ['tile_kernels.testing.pytest.{plugin}']\n{further}")


def test_each_test_has_a_seed_of_its_own(pytester: pytest.Pytester) -> None:
    use(pytester, "random")
    pytester.makepyfile("""
        import hashlib, random, torch

        def test_first(seed, request):
            base = request.config.getoption("--seed")
            digest = hashlib.sha256(request.node.nodeid.encode()).hexdigest()
            assert seed == base + int(digest, 16) % 2**31
            found = (random.random(), torch.rand(1).item())
            random.seed(seed)
            torch.manual_seed(seed)
            assert found == (random.random(), torch.rand(1).item())

        def test_second():
            print("DRAWN", random.random())
    """)
    outputs = []
    for arguments in ([], [], ["--seed", "5"]):
        result = pytester.runpytest("-s", *arguments)
        result.assert_outcomes(passed=2)
        outputs.append([line for line in result.outlines if "DRAWN" in line])
    assert outputs[0] == outputs[1] != outputs[2]


def test_precompiling_keeps_tests_with_tokens(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(pytester, "precompile")
    pytester.makepyfile("""
        import pytest

        @pytest.mark.parametrize("params", [dict(num_tokens=1), dict(num_send_tokens=1), dict(k=1)])
        def test_dicts(params): pass

        @pytest.mark.parametrize("num_expanded_tokens", [1])
        def test_names(num_expanded_tokens): pass

        def test_nothing(): pass
    """)
    pytester.runpytest().assert_outcomes(passed=5)
    monkeypatch.setenv("TK_PRECOMPILE", "1")
    pytester.runpytest().assert_outcomes(passed=3, deselected=2)


def test_warnings_of_the_compiler_are_collected(pytester: pytest.Pytester) -> None:
    use(pytester, "tilelang_warning")
    pytester.makepyfile("""
        import sys

        def test_noisy():
            for _ in range(2):
                print("norm.cpp:12: warning[W-INIT-01]: t is read before it is written")
            print("norm.cpp:3: warning[W-SHAPE-02]: odd", file=sys.stderr)
            print("just a warning: of something else")

        def test_quiet(): pass
    """)
    result = pytester.runpytest()
    result.stdout.fnmatch_lines([
        "*Compiler Warnings*",
        "*::test_noisy",
        "  norm.cpp:12: warning[[]W-INIT-01]: t is read before it is written",
        "  norm.cpp:3: warning[[]W-SHAPE-02]: odd",
    ])  # fmt: skip
    assert result.stdout.str().count("W-INIT-01") == 1
    assert "something else" not in result.stdout.str()
    pytester.makepyfile("def test_quiet(): pass")
    assert "Compiler Warnings" not in pytester.runpytest().stdout.str()


METER = """
from tile_kernels.testing.pytest import gpu_mem

class Meter:
    used = 500_000  # before a test
    def start(self): return self.used
    def peak(self): return self.used + PEAK
PEAK = 0
def take(mb):
    global PEAK
    PEAK = int(mb * 1e6)
gpu_mem.memory = lambda: Meter()
"""
MEMORY_TESTS = """
import pytest
from conftest import take

@pytest.mark.parametrize("params", [1, 2], ids=["num_sms=20,k=1", "num_sms=132,k=1"])
def test_small(params): take(12.34 * params)

def test_large(): take(20000)

def test_fails():
    take(1)
    assert False

@pytest.fixture
def broken():
    yield
    assert False

def test_fails_late(broken): take(1)
"""


def test_memory_of_tests_is_recorded(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(pytester, "gpu_mem", METER)
    pytester.makepyfile(test_memory=MEMORY_TESTS)
    profiles = pytester.path / "profiles"
    monkeypatch.setenv("TK_GPU_MEM_PROFILES_DIR", str(profiles))
    result = pytester.runpytest("--gpu-mem-output", "peaks.jsonl", "--refresh-mem")
    result.stdout.fnmatch_lines([
        "*GPU Memory Report*",
        "Test *Peak MB  Class",
        "test_memory.py::test_large *20000.0  LARGE",
        "test_memory.py::test_small[[]k=1] * 24.7 *ok",
        "Total: 2 tests, 1 large, 1 ok (threshold: 15000 MB)",
    ])  # fmt: skip
    lines = (profiles / "test_memory.py.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"test_id": "test_memory.py::test_large", "peak_gpu_mb": 20000.0},
        {"test_id": "test_memory.py::test_small[k=1]", "peak_gpu_mb": 24.7},
    ]
    raw = [json.loads(line) for line in (pytester.path / "peaks.jsonl").read_text().splitlines()]
    assert [record["peak_gpu_mb"] for record in raw] == [12.3, 24.7, 20000.0]
    small = pytester.runpytest("-m", "not large_gpu_mem")
    small.assert_outcomes(passed=2, deselected=3)  # those without a profile count as large
    all_small = pytester.runpytest("-m", "not large_gpu_mem", "--gpu-mem-threshold", "30000")
    all_small.assert_outcomes(passed=3, deselected=2)
    monkeypatch.delenv("TK_GPU_MEM_PROFILES_DIR")
    pytester.runpytest("-m", "large_gpu_mem").assert_outcomes(deselected=5)
    refused = pytester.runpytest("--refresh-mem")
    assert refused.ret == pytest.ExitCode.USAGE_ERROR


def test_profiles_are_filled_meanwhile(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(pytester, "gpu_mem", METER)
    pytester.makepyfile(
        test_memory="""
        from conftest import take
        def test_a(): take(1)
        def test_b(): take(2)
        def test_c(): assert open("profiles/test_memory.py.jsonl").read().count("test_id") == 2
    """
    )
    monkeypatch.setenv("TK_GPU_MEM_PROFILES_DIR", "profiles")
    monkeypatch.setenv("TK_TEST_MERGE_MODE", "fill")
    pytester.runpytest("--refresh-mem", "--gpu-mem-flush-interval", "0").assert_outcomes(passed=3)


def test_without_a_gpu_nothing_is_recorded(pytester: pytest.Pytester) -> None:
    use(pytester, "gpu_mem", "from tile_kernels.testing.pytest import gpu_mem\n"
        "gpu_mem.memory = lambda: None")  # fmt: skip
    pytester.makepyfile("def test_a(): pass")
    result = pytester.runpytest("--gpu-mem-output", "peaks.jsonl")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["Total: 0 tests, 0 large, 0 ok *"])


FAILING = """
import time, pytest
from pathlib import Path

@pytest.fixture
def slow_end():
    yield
    time.sleep(0.5)
    Path("torn_down").touch()

def test_fails(slow_end): assert False

@pytest.mark.parametrize("i", range(200))
def test_waits(i): time.sleep(0.1)
"""


@pytest.mark.skipif(xdist is None, reason="pytest-xdist is not installed")
def test_the_first_failure_ends_a_parallel_session(pytester: pytest.Pytester) -> None:
    use(pytester, "xdist_failfast")
    pytester.makepyfile(FAILING)
    result = pytester.runpytest_subprocess("-n", "2", "-x", "-p", "xdist", timeout=60)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert (pytester.path / "torn_down").exists()
    assert "first failure: " in result.stdout.str()
    assert result.duration < 15


@pytest.mark.skipif(xdist is None, reason="pytest-xdist is not installed")
def test_workers_share_their_records(pytester: pytest.Pytester) -> None:
    use(pytester, "benchmark")
    pytester.makepyfile("""
        import pytest

        @pytest.mark.benchmark
        @pytest.mark.parametrize("n", range(6))
        def test_speed(n, benchmark_record):
            benchmark_record(kernel="k", operation="fwd", params=dict(n=n), time_us=1.0 + n)
    """)
    result = pytester.runpytest_subprocess("-n", "2", "--run-benchmark", "-p", "xdist")
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["Total: 6 benchmarks, 0 with baselines, 6 missing, *"])


def test_failfast_needs_no_xdist(pytester: pytest.Pytester) -> None:
    use(pytester, "xdist_failfast")
    pytester.makepyfile("def test_a(): assert False\ndef test_b(): pass")
    pytester.runpytest("-x").assert_outcomes(failed=1)
    assert "xdist" not in sys.modules or xdist is not None
