"""Programs in text form, compiled and called."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw

SCALE = """tilewright ir 1
program "scale" {
  symbol n: i64
  input X: f32[n]
  scalar a: f32
  output Y: f32[n]
  launch bx in (n + 63) // 64 {
    parallel i in 64 {
      if bx * 64 + i < n {
        Y[bx * 64 + i] = a * X[bx * 64 + i]
      }
    }
  }
}
"""


@pytest.fixture(scope="module")
def scale() -> tw.Kernel:
    return tw.compile_text(SCALE)


@pytest.mark.parametrize("n", [0, 1, 64, 100])
def test_outputs_are_allocated_or_given(scale: tw.Kernel, n: int) -> None:
    x = np.arange(n, dtype="float32")
    np.testing.assert_array_equal(scale(x, 2.5), 2.5 * x)
    out = np.zeros(n, "float32")
    assert scale(x, 3, out=out) is out
    np.testing.assert_array_equal(out, 3 * x)
    assert scale(x, np.float32(4), out) is out
    np.testing.assert_array_equal(out, 4 * x)


def test_unsigned_integers_stand_for_formats_that_numpy_lacks() -> None:
    text = SCALE.replace("X: f32", "X: bf16").replace("X[bx * 64 + i]", "cast(X[bx * 64 + i], f32)")
    kernel = tw.compile_text(text)
    bits = np.array([0x3F80, 0x4000], "uint16")  # 1, 2
    np.testing.assert_array_equal(kernel(bits, 3.0), [3, 6])


def test_wrong_calls_are_refused(scale: tw.Kernel) -> None:
    x = np.zeros(4, "float32")
    with pytest.raises(
        TypeError, match=r"expected 2 arguments and 1 outputs, got 1 and 0.*\n.*scale\(X, a\) -> Y"
    ):
        scale(x)
    with pytest.raises(TypeError, match="a must be a number, it is 'two'"):
        scale(x, "two")
    with pytest.raises(TypeError, match="X expected f32, got f64"):
        scale(x.astype("float64"), 2)
    with pytest.raises(ValueError, match=r"X expected rank 1, got 2 with shape \[2, 2\]"):
        scale(x.reshape(2, 2), 2)
    with pytest.raises(ValueError, match="scale: Y is read-only"):
        scale(x, 2, out=np.broadcast_to(np.float32(0), (4,)))


def test_a_target_that_is_not_there_is_a_runtime_error() -> None:
    with pytest.raises(RuntimeError, match="E-TGT-04"):
        tw.compile_text(SCALE, target="ascend950")


def test_without_a_gpu_the_error_says_what_to_do() -> None:
    if any(target.startswith("cuda") for target in tw.info()["targets"]):
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match=r"(?s)E-TGT-04.*no device.*sm_90a compiles without"):
        tw.compile_text(SCALE, target="cuda")


def for_gpu(target: str) -> tw.Kernel:
    try:
        return tw.compile_text(SCALE, target=target)
    except RuntimeError as error:
        if "E-TOOL-01" not in str(error):
            raise
        pytest.skip(str(error))


def test_a_kernel_for_a_gpu_refuses_arrays_of_the_cpu() -> None:
    kernel = for_gpu("cuda:sm_90a")
    with pytest.raises(ValueError, match=r"E-HOST-04.*X is on cpu.*compiled for cuda:sm_90a"):
        kernel(np.ones(4, "float32"), 2)


@pytest.mark.parametrize("target", ["cuda:sm_90a", "cuda:sm_100a"])
def test_a_kernel_for_a_gpu_is_exported_without_one(target: str, tmp_path: Path) -> None:
    path = str(tmp_path / "scale")
    for_gpu(target).export_object(path)
    assert f"for {target}" in tw.Kernel.load(path).explain()


def test_an_edited_source_takes_the_place_of_a_kernels_own() -> None:
    for_gpu("cuda:sm_90a")
    kernel = tw.compile_text(SCALE, target="cuda:sm_90a", keep_texts=True)
    source = kernel.text("cuda")
    edited = kernel.replace_source("// edited\n" + source)
    assert "the source is the author's" in edited.explain()
    assert "registers" in kernel.explain()
    with pytest.raises(ValueError, match=r"NVRTC refuses the source.*\n.*no_such_function"):
        kernel.replace_source(source + "\n__device__ int i = no_such_function();\n")
    with pytest.raises(ValueError, match="source"):
        tw.compile_text(SCALE, target="cpu").replace_source(source)


def test_a_kernel_for_a_gpu_from_the_disk_opens_no_compiler(tmp_path: Path) -> None:
    for_gpu("cuda:sm_90a")
    code = (
        "import sys, tilewright as tw;"
        f"kernel = tw.compile_text({SCALE!r}, target='cuda:sm_90a');"
        "print(kernel.origin, 'libnvrtc' in open('/proc/self/maps').read())"
    )
    environment = {**os.environ, "TW_CACHE_DIR": str(tmp_path), "TW_CACHE_DISABLE": "0"}
    for wanted in ("compiled True", "disk False"):
        found = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert found.stdout.strip() == wanted, found.stderr


def test_a_text_that_is_no_program_is_refused_with_its_place() -> None:
    with pytest.raises(ValueError, match=r"^mine\.tw:3"):
        tw.compile_text('tilewright ir 1\nprogram "p" {\n  nonsense\n}\n', file="mine.tw")


def test_it_explains_itself(scale: tw.Kernel) -> None:
    assert scale.name == "scale"
    assert "X" in scale.explain()
    texts = tw.compile_text(SCALE, keep_texts=True)
    assert "define" in texts.text("llvm")
    with pytest.raises(ValueError, match="llvm"):
        texts.text("none of this name")


def test_an_exported_kernel_loads(scale: tw.Kernel, tmp_path: Path) -> None:
    path = str(tmp_path / "scale.so")
    scale.export_object(path)
    np.testing.assert_array_equal(tw.Kernel.load(path)(np.ones(5, "float32"), 2), np.full(5, 2))


def test_a_failing_assert_is_a_runtime_error() -> None:
    checked = SCALE.replace(
        "parallel i in 64", 'assert a > 0.0, "a is positive"\n    parallel i in 64'
    )
    with pytest.raises(RuntimeError, match="a is positive"):
        tw.compile_text(checked)(np.ones(3, "float32"), -1.0)


SLOTS = SCALE.replace(
    "parallel i in 64", "alloc t: f32[8] shared\n    t[bx] = 1\n    parallel i in 64"
)


def test_check_bounds_names_the_access() -> None:
    kernel = tw.compile_text(SLOTS, options={"check_bounds": "on"}, file="mine.tw")
    with pytest.raises(RuntimeError) as error:
        kernel(np.ones(9 * 64, "float32"), 1.0)
    assert str(error.value) == (
        "scale: device assert failed: t[bx] reaches 8 in dimension 0 (extent 8) "
        "in block (8, 0, 0) at mine.tw:9"
    )


def test_verbose_adds_what_is_only_suspected() -> None:
    assert tw.compile_text(SLOTS, cache=False).warnings == ""
    assert tw.compile_text(SLOTS, verbose=True, file="mine.tw").warnings == (
        "mine.tw:9: warning[W-BND-01]: scale: t[bx] may lie outside dimension 0\n"
        "  note: it is in `t[bx] = 1.0`\n"
        "  note: t is f32[8] shared\n"
        "  help: the option check_bounds makes it an assert"
    )


def test_bench_times_calls_beside_a_copy(scale: tw.Kernel) -> None:
    x, out = np.ones(1 << 16, "float32"), np.zeros(1 << 16, "float32")
    for time in (scale.bench(x, 2.0, out=out, rounds=9), scale.bench(x, 2.0, rounds=9)):
        assert isinstance(time, tw.CallTime)
        assert time.bytes == 2 * x.nbytes
        assert time.time_us > 0 and time.spread_us >= 0
        assert time.share == time.ceiling_us / time.time_us
        assert "% of the speed of a copy" in repr(time)
    np.testing.assert_array_equal(out, 2.0)
    assert scale.bench(x, 2.0, bytes=0, rounds=1).share == 0
    with pytest.raises(ValueError, match="rounds is -1"):
        scale.bench(x, 2.0, rounds=-1)
    with pytest.raises(TypeError, match="expected 2 arguments"):
        scale.bench(x)


def test_bench_of_a_function_counts_its_arrays() -> None:
    x, w = np.ones((64, 128), "float32"), np.ones(128, "float32")
    time = tw.bench(tw.rms_norm, x, w, rounds=3)
    assert time.bytes == 2 * x.nbytes + w.nbytes and time.time_us > 0
    assert tw.bench(tw.rms_norm, x, w, out=x, rounds=3).bytes == x.nbytes + w.nbytes
    assert tw.bench(tw.rms_norm, x, w, eps=0.5, bytes=8, rounds=3).bytes == 8
    assert tw.bench(lambda: None, rounds=3).bytes == 0
    with pytest.raises(ValueError, match="rms_norm: w is"):
        tw.bench(tw.rms_norm, x, w[:5])
