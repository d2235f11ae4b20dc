"""Tensors of torch on a GPU: kernels run on torch's stream and take memory from its allocator."""

import time
from typing import Any

import pytest

import tilewright as tw

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("torch finds no GPU", allow_module_level=True)

TWICE = """tilewright ir 1
program "twice" {
  symbol n: i64
  input X: f32[n]
  output Y: f32[n]
  launch bx in (n + 255) // 256 {
    parallel i in 256 {
      if bx * 256 + i < n {
        Y[bx * 256 + i] = X[bx * 256 + i] * 2.0
      }
    }
  }
}
"""


@pytest.fixture(scope="module")
def twice() -> tw.Kernel:
    try:
        return tw.compile_text(TWICE, target="cuda")
    except NotImplementedError as error:
        pytest.skip(str(error))


def numbers(n: int = 1000, device: str = "cuda") -> "torch.Tensor":
    return torch.arange(n, dtype=torch.float32, device=device)


def test_tensors_come_in_and_go_out(twice: tw.Kernel) -> None:
    x = numbers()
    found = twice(x)
    assert isinstance(found, torch.Tensor) and found.device == x.device
    assert torch.equal(found, x * 2)
    out = torch.empty_like(x)
    assert twice(x, out=out) is out
    assert torch.equal(out, x * 2)


def test_bench_agrees_with_the_profiler(twice: tw.Kernel) -> None:
    """CUPTI's durations, behind a sum that reads several times the L2 cache."""
    from torch.profiler import ProfilerActivity, profile

    large = torch.ones(64 << 20, device="cuda")
    for mib in (1, 8, 64, 256):
        x = numbers(mib << 17)  # so many MiB are read and written together
        y = torch.empty_like(x)
        found = twice.bench(x, out=y)
        assert found.bytes == mib << 20
        with profile(activities=[ProfilerActivity.CUDA]) as trace:
            for _ in range(21):
                large.sum()
                twice(x, out=y)
            torch.cuda.synchronize()
        spans = [e.time_range for e in trace.events() if "twice" in e.name]
        times = sorted(span.end - span.start for span in spans)
        profiled = times[len(times) // 2]
        print(f"bench, {mib} MiB: {found}; CUPTI {profiled:.2f} us")
        assert profiled - 1 < found.time_us < 1.1 * profiled + 3
        assert 0.5 < found.share < 1.5


def test_bench_of_functions_and_of_what_waits(twice: tw.Kernel) -> None:
    x, w = torch.ones((1024, 4096), device="cuda"), torch.ones(4096, device="cuda")
    out = torch.empty_like(x)
    found = tw.bench(tw.rms_norm, x, w, out=out, rounds=5)
    assert found.bytes == 2 * x.nbytes + w.nbytes and 0.3 < found.share < 1.5
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert tw.bench(torch.add, x, x, rounds=5).bytes == 2 * x.nbytes
        assert twice.bench(x.flatten(), rounds=5).bytes == 2 * x.nbytes
    with pytest.raises(ValueError, match="the call waits for the device"):
        tw.bench(lambda a: tw.rms_norm(a, w).sum().item(), x)
    with pytest.raises(ValueError, match="X is on cpu, the kernel was compiled for"):
        twice.bench(torch.ones(8))


def test_explain_asks_the_driver(twice: tw.Kernel) -> None:
    text = twice.explain()
    print(text)
    assert "asked of cuda:0" in text and "by the limits of the chip" not in text


def test_a_result_comes_from_torchs_allocator(twice: tw.Kernel) -> None:
    x = numbers(1 << 20)
    twice(x)
    before = torch.cuda.memory_allocated()
    y = twice(x)
    assert torch.cuda.memory_allocated() - before == y.numel() * 4
    del y
    assert torch.cuda.memory_allocated() == before


def test_it_runs_on_the_current_stream(twice: tw.Kernel) -> None:
    x = numbers(1 << 22)
    twice(x + 1)  # what is loaded at first use is there
    torch.cuda._sleep(1)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        late = x + 1
        y = twice(late)
        event = stream.record_event()
        assert not event.query()  # nothing waited for it
    event.synchronize()
    assert torch.equal(y, (x + 1) * 2)


def test_a_stream_may_be_given(twice: tw.Kernel) -> None:
    x, out = numbers(), torch.zeros(1000, device="cuda")
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    twice(x, out=out, stream=stream)
    stream.synchronize()
    assert torch.equal(out, x * 2)
    twice(x, out=out, stream=stream.cuda_stream)
    with pytest.raises(ValueError, match="make the stream current"):
        twice(x, stream=stream)
    with pytest.raises(TypeError, match="stream must be a stream"):
        twice(x, out=out, stream="first")


def test_a_graph_captures_calls(twice: tw.Kernel) -> None:
    x = numbers()
    twice(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = twice(x)
    x += 5
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(y, x * 2)


def test_mixed_devices_are_refused(twice: tw.Kernel) -> None:
    x = numbers()
    with pytest.raises(ValueError, match=r"E-HOST-04.*X is on cpu.*compiled for cuda:sm_"):
        twice(x.cpu())
    with pytest.raises(ValueError, match=r"E-HOST-04.*Y is on cpu"):
        twice(x, out=torch.zeros(1000))
    on_cpu = tw.compile_text(TWICE, target="cpu") if "cpu" in str(tw.info()["targets"]) else None
    if on_cpu is not None:
        with pytest.raises(ValueError, match=r"E-HOST-04.*X is on cuda:0"):
            on_cpu(x)


def test_views_are_read_in_place(twice: tw.Kernel) -> None:
    x = numbers(1000)[8:520]
    assert torch.equal(twice(x), x * 2)
    with pytest.raises(ValueError, match="E-HOST-06"):
        twice(numbers(1000)[::2])


def cost_us(run: Any) -> float:
    best = 1e9
    for _ in range(20):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(200):
            run()
        best = min(best, (time.perf_counter() - start) / 200 * 1e6)
    return best


def test_a_call_is_cheap(twice: tw.Kernel) -> None:
    x, out = numbers(), torch.empty(1000, device="cuda")
    given = cost_us(lambda: twice(x, out=out))
    made = cost_us(lambda: twice(x))
    torchs = cost_us(lambda: torch.mul(x, 2.0, out=out))
    print(f"\na call {given:.2f} us, with a new output {made:.2f} us; torch.mul {torchs:.2f} us")
    assert given < 20
