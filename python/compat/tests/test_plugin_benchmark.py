"""The plugin for benchmarks, in sessions of its own."""

import json
import time

import pytest

from tile_kernels.testing.pytest import benchmark, timer  # noqa: F401
from tile_kernels.testing.pytest.key_filter import compile_filter
from tile_kernels.testing.pytest.records import Limits, key_of, make_record

pytest_plugins = ["pytester"]

TESTS = """
import pytest
TIMES = {times}

@pytest.mark.parametrize("params", [dict(num_tokens=n, hidden=64) for n in (8, 16, 128)],
                         ids=lambda p: "num_tokens=%d,hidden=64," % p["num_tokens"])
@pytest.mark.benchmark
def test_speed(params, benchmark_record):
    n = params["num_tokens"]
    benchmark_record(kernel="copy", operation="fwd", params=dict(params, dtype="bf16"),
                     time_us=TIMES[n], bandwidth_gbs=1000.0, extras=dict(share=0.5))

def test_sum():
    assert 1 + 1 == 2
"""


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Tests in tests/a/test_copy.py, and what writes them with other times."""
    for name in ("TK_TESTS_DIR", "TK_BENCHMARK_TESTS_DIR", "TK_BENCHMARK_BASELINES_DIR",
                 "TK_BENCHMARK_REGRESSION_THRESHOLD", "TK_BENCHMARK_MIN_DELTA_US",
                 "TK_BENCHMARK_FAIL_MODE", "TK_TEST_MERGE_MODE"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    pytester.makeconftest("pytest_plugins = ['tile_kernels.testing.pytest.benchmark']")
    (pytester.path / "tests" / "a").mkdir(parents=True)
    write(pytester, {8: 10.0, 16: 20.0, 128: 30.0})
    return pytester


def write(pytester: pytest.Pytester, times: dict[int, float]) -> None:
    text = TESTS.replace("{times}", repr(times))
    (pytester.path / "tests" / "a" / "test_copy.py").write_text(text)


def shard(pytester: pytest.Pytester) -> list[dict]:
    path = pytester.path / "tests" / "benchmark_baselines" / "a" / "test_copy.py.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_benchmarks_are_skipped_by_default(folder: pytest.Pytester) -> None:
    result = folder.runpytest("-rs")
    result.assert_outcomes(passed=1, skipped=3)
    result.stdout.fnmatch_lines(["*need --run-benchmark to run*"])
    assert "Benchmark Regression Report" not in result.stdout.str()


def test_records_are_printed_and_written(folder: pytest.Pytester) -> None:
    result = folder.runpytest("--run-benchmark", "--benchmark-output", "out.jsonl", "-s")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines([
        "*  BENCH copy/fwd[[]num_tokens=8,hidden=64,]: 10.0 us, bandwidth_gbs=1000.00, share=0.5",
        "no baselines for these benchmarks in *benchmark_baselines",
        "Kernel * Current  Bandwidth  share",
        "copy/fwd[[]num_tokens=8,    hidden=64,  ] *10.0 *1000.0 *0.5",
        "copy/fwd[[]num_tokens=16,   hidden=64,  ] *20.0 *1000.0 *0.5",
        "copy/fwd[[]num_tokens=128,  hidden=64,  ] *30.0 *1000.0 *0.5",
        "GEOMEAN * 18.2 * 1000.0",
        "Total: 3 benchmarks, 0 with baselines, 3 missing, 0 regressions, 0 improvements "
        "(threshold: 5%)",
    ])  # fmt: skip
    first = json.loads((folder.path / "out.jsonl").read_text().splitlines()[0])
    assert first == {
        "kernel": "copy", "operation": "fwd",
        "params": {"dtype": "bf16", "hidden": 64, "num_tokens": 8},
        "param_id": "num_tokens=8,hidden=64,", "source_file": "a/test_copy.py", "time_us": 10.0,
        "extra_params": {"dtype": "bf16"}, "bandwidth_gbs": 1000.0, "extras": {"share": 0.5},
    }  # fmt: skip


def test_baselines_are_written_and_compared_with(folder: pytest.Pytester) -> None:
    result = folder.runpytest("--run-benchmark", "--refresh-baseline")
    result.assert_outcomes(passed=3, deselected=1)
    result.stdout.fnmatch_lines([
        "*Benchmark Baseline Update*",
        "*benchmark_baselines (replace): 0 updated, 3 new, 0 removed, 3 total",
        "1 shards: a/test_copy.py",
    ])  # fmt: skip
    assert [record["time_us"] for record in shard(folder)] == [30.0, 20.0, 10.0]  # by key
    assert "source_file" not in shard(folder)[0]
    write(folder, {8: 10.7, 16: 25.0, 128: 20.0})
    result = folder.runpytest("--run-benchmark", "--benchmark-verbose")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*64,[]] took 25.0 us, 20.0 before"])
    result.stdout.fnmatch_lines([
        "Kernel * Latency (us)  Bandwidth (GB/s)  share(cur)  share(ref)  Ratio     Stat",
        "copy/fwd[[]num_tokens=8, *10.7 *1000.0 *0.5 *0.5  1.07x       OK",
        "copy/fwd[[]num_tokens=16, *25.0 *1000.0 *1.25x  regress",
        "copy/fwd[[]num_tokens=128, *20.0 *1000.0 *0.67x  improve",
        "GEOMEAN * 17.5 * 1000.0 * 0.96x",
        "Total: 3 benchmarks, 3 with baselines, 0 missing, 1 regressions, 1 improvements *",
        "Improvements:",
        "  copy/fwd[[]num_tokens=128, *]: 1.50x faster (30.0 -> 20.0 us)",
        "Regressions:",
        "  copy/fwd[[]num_tokens=16, *]: 1.25x slower (20.0 -> 25.0 us)",
    ])  # fmt: skip


@pytest.mark.parametrize(
    ("mode", "times", "summary"),
    [
        ("replace", [30.0, 20.0, 11.0], "1 updated, 0 new, 0 removed, 3 total"),
        ("overwrite", [11.0], "1 updated, 0 new, 2 removed, 1 total"),
        ("fill", [30.0, 20.0, 10.0], "0 updated, 0 new, 0 removed, 3 total"),
    ],
)
def test_ways_to_merge(
    folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, mode: str, times: list, summary: str
) -> None:
    folder.runpytest("--run-benchmark", "--refresh-baseline")
    write(folder, {8: 11.0, 16: 21.0, 128: 31.0})
    monkeypatch.setenv("TK_TEST_MERGE_MODE", mode)
    result = folder.runpytest("--run-benchmark", "--refresh-baseline", "-K", "num_tokens=8,")
    result.stdout.fnmatch_lines([f"*({mode}): {summary}"])
    assert [record["time_us"] for record in shard(folder)] == times


def test_nothing_is_written_when_a_test_fails(folder: pytest.Pytester) -> None:
    write(folder, {8: 10.0, 16: 20.0})  # the third has none
    result = folder.runpytest("--run-benchmark", "--refresh-baseline")
    assert result.ret == 1 and not (folder.path / "tests" / "benchmark_baselines").exists()


@pytest.mark.parametrize(
    ("mode", "missing", "slower"),
    [("regression", 0, 1), ("missing", 1, 0), ("missing-regression", 1, 1), ("none", 0, 0)],
)
def test_what_fails_a_session(
    folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, mode: str, missing: int, slower: int
) -> None:
    monkeypatch.setenv("TK_BENCHMARK_FAIL_MODE", mode)
    monkeypatch.setenv("TK_BENCHMARK_BASELINES_DIR", str(folder.path / "accepted"))
    assert folder.runpytest("--run-benchmark").ret == missing
    folder.runpytest("--run-benchmark", "--refresh-baseline")
    assert (folder.path / "accepted" / "a" / "test_copy.py.jsonl").exists()
    assert folder.runpytest("--run-benchmark").ret == 0
    write(folder, {8: 100.0, 16: 20.0, 128: 30.0})
    assert folder.runpytest("--run-benchmark").ret == slower


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--refresh-baseline"], "--refresh-baseline needs --run-benchmark"),
        (["-K", "copy and"], "'copy and' lacks an expression at its end"),
        (["-K", "copy or and x"], "lacks an expression before 'and'"),
        (["-K", "("], "'(' is no regular expression"),
        (["-K", "'copy"], "has a quote without an end"),
        (["-K", ""], "lacks an expression at its end"),
    ],
)
def test_usage_errors(folder: pytest.Pytester, arguments: list[str], message: str) -> None:
    result = folder.runpytest(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in result.stderr.str()


def test_an_unknown_way_to_merge_is_an_error(
    folder: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TK_TEST_MERGE_MODE", "append")
    result = folder.runpytest("--run-benchmark", "--refresh-baseline")
    assert result.ret == pytest.ExitCode.USAGE_ERROR and "'append'" in result.stderr.str()
    assert folder.runpytest("--run-benchmark").ret == 0


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("copy", "ab"), ("copy and 8", "a"), ("copy 8", "a"), ("not copy", "c"),
        ("sum or 8", "ac"), ("not 8 and copy or sum", "bc"), ("not not 8", "a"),
        (r"\[(8|16)\]", "ab"), ("'and'", "c"), ('"of and"', "c"),
    ],
)  # fmt: skip
def test_filters(text: str, wanted: str) -> None:
    ids = {"a": "test_copy[8]", "b": "test_copy[16]", "c": "test_sum[of and]"}
    matches = compile_filter(text)
    assert "".join(name for name, id in ids.items() if matches(id)) == wanted


def test_several_filters_are_alternatives(folder: pytest.Pytester) -> None:
    folder.runpytest("-K", "sum", "-K", "num_tokens=8,").assert_outcomes(
        passed=1, skipped=1, deselected=2
    )


def test_keys_of_records_without_ids() -> None:
    common = {"time_us": 1.234567, "param_id": None, "source_file": None, "own_params": {}}
    record = make_record("k", "bwd", {"b": 2, "a": 1}, bandwidth_gbs=None,
                         extras={"bandwidth_gbs": 3.14159265, "n": 1.000049}, **common)  # fmt: skip
    assert key_of(record) == "k/bwd[a=1,b=2]"
    assert (record["time_us"], record["bandwidth_gbs"]) == (1.23, 3.1416)
    assert record["extras"] == {"n": 1.0} and record["extra_params"] == {"b": 2, "a": 1}
    bare = make_record("k", "fwd", {}, bandwidth_gbs=None, extras=None, **common)
    assert key_of(bare) == "k/fwd[None]" and "extras" not in bare and "extra_params" not in bare


def test_a_change_is_relative_and_absolute() -> None:
    limits = Limits(0.05, 0.8, "regression")
    changes = [(10.0, 10.5), (10.0, 10.7), (100.0, 105.0), (100.0, 105.1), (10.0, 9.3),
               (10.0, 9.2), (1.0, 5.0)]  # fmt: skip
    found = [limits.status(current, baseline) for baseline, current in changes]
    assert found == ["OK", "OK", "OK", "regress", "OK", "improve", "regress"]


@pytest.mark.parametrize("backend", ["cupti", "wall"])
def test_a_call_is_timed(backend: str) -> None:
    found = timer.time_us(lambda: time.sleep(2e-3), rep=10, cache_size=1, backend=backend)
    assert 2000 < found < 20000
    low, high = timer.time_us(
        lambda: time.sleep(1e-3), rep=10, cache_size=1, backend="wall", quantiles=[0.0, 1.0]
    )
    assert 1000 < low <= high
    least = timer.time_us(lambda: None, rep=1, cache_size=1, backend="wall", return_mode="min")
    assert least < 2000
