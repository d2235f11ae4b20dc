"""How arrays come in and go out, and what is refused."""

import ctypes
import re
import threading
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import reference

import tilewright as tw


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def test_views_with_gaps_between_rows_are_read_and_written_in_place() -> None:
    wide, out = random(5, 40), np.zeros((10, 24), "float32")
    x, y, w = wide[:, 4:28], out[::2], random(24)
    assert tw.rms_norm(x, w, out=y) is y
    np.testing.assert_allclose(y, reference.rms_norm(x, w, 1e-6), rtol=1e-5)
    assert not out[1::2].any()


def test_out_may_be_an_input() -> None:
    x = random(4, 9)
    wanted = reference.softmax(x)
    assert tw.softmax(x, out=x) is x
    np.testing.assert_allclose(x, wanted, rtol=1e-5)


def test_results_without_elements_have_their_shape() -> None:
    assert tw.softmax(np.zeros((0, 5), "float32")).shape == (0, 5)
    assert tw.gemm(random(0, 4), random(4, 3)).shape == (0, 3)


def test_bf16_is_a_dtype_of_ml_dtypes_or_bits_with_a_keyword() -> None:
    x = random(6, 32).astype(ml_dtypes.bfloat16)
    w = random(32)
    found = tw.rms_norm(x, w)
    assert found.dtype == ml_dtypes.bfloat16
    wanted = reference.rms_norm(x.astype("float32"), w, 1e-6)
    np.testing.assert_allclose(found.astype("float64"), wanted, rtol=2**-8)
    bits = tw.rms_norm(x.view("uint16"), w, dtype="bf16")
    assert bits.dtype == np.uint16
    np.testing.assert_array_equal(bits, found.view("uint16"))


def test_readable_memory_is_an_input_but_no_output() -> None:
    x, out = random(3, 8), np.zeros((3, 8), "float32")
    x.flags.writeable = out.flags.writeable = False
    tw.softmax(x)
    with pytest.raises(ValueError, match=r"^softmax: out is read-only$"):
        tw.softmax(x, out=out)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: tw.rms_norm([1.0, 2.0], random(2)),
            TypeError,
            "rms_norm: x is of type list, it must be an array of numpy or one with __dlpack__",
        ),
        (
            lambda: tw.softmax(np.zeros((2, 2), "complex64")),
            TypeError,
            "softmax: x is of dtype complex64, which tilewright doesn't have",
        ),
        (
            lambda: tw.softmax(np.zeros((2, 2), ">f4")),
            TypeError,
            "softmax: x is of dtype >f4, which tilewright doesn't have",
        ),
        (
            lambda: tw.softmax(np.zeros((4, 8), "int32")),
            TypeError,
            "softmax: x is i32 [4, 8], it must be f32, bf16 or f16",
        ),
        (
            lambda: tw.softmax(Shared(np.zeros((2, 2), "complex64"))),
            TypeError,
            "error[E-TYPE-01]: dlpack: no dtype for code 5, 64 bits, 1 lanes\n  note: x of softmax",
        ),
        (
            lambda: tw.softmax(random(8)),
            ValueError,
            "softmax: x is f32 [8], it must have 2 dimensions",
        ),
        (
            lambda: tw.rms_norm(random(4, 8), random(9)),
            ValueError,
            "rms_norm: w is f32 [9], it must be [8] [h]",
        ),
        (
            lambda: tw.softmax(random(4, 8), out=random(4, 9)),
            ValueError,
            "softmax: y is f32 [4, 9], it must be f32 [4, 8] like x",
        ),
        (
            lambda: tw.gemm(random(2, 2), random(2, 2), activation="tanh"),
            ValueError,
            "gemm: activation is 'tanh', it must be none, relu, gelu, gelu_tanh or silu",
        ),
        (
            lambda: tw.softmax(np.zeros((1,) * 9, "float32")),
            ValueError,
            "softmax: x has 9 dimensions, the largest rank is 8",
        ),
    ],
)
def test_what_is_refused_is_said_in_full(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"^{re.escape(text)}$"):
        call()


def test_rows_with_gaps_inside_are_refused() -> None:
    with pytest.raises(ValueError, match="stride"):
        tw.softmax(random(4, 16)[:, ::2])


class Shared:
    """An array of another library: nothing but DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __array_namespace__(self) -> Any:
        return Library


class Library:
    @staticmethod
    def from_dlpack(array: Any) -> Shared:
        return Shared(np.from_dlpack(array))


class OldShared(Shared):
    """From before DLPack 1.0: no max_version."""

    def __dlpack__(self) -> Any:
        return self.array.__dlpack__()


class Elsewhere(OldShared):
    """On a device that is not this one: its kind and number stand behind the address."""

    device = (2, 1)

    def __dlpack__(self) -> Any:
        capsule = super().__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        address = pointer(capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p)
        (ctypes.c_int32 * 2).from_address(address)[:] = self.device
        return capsule


def test_memory_of_another_device_is_refused() -> None:
    x = Elsewhere(random(4, 8))
    with pytest.raises(ValueError, match="outputs on cuda:1 of arrays that aren't torch's"):
        tw.softmax(x)
    with pytest.raises(
        ValueError, match="rms_norm: w is on cuda:1, the kernel was compiled for cpu"
    ):
        tw.rms_norm(random(4, 8), Elsewhere(random(8)))
    x.device = (8, 0)  # Metal
    with pytest.raises(ValueError, match=r"device type 8 isn't supported.*\n  note: x of softmax"):
        tw.softmax(x)


@pytest.mark.parametrize("kind", [Shared, OldShared])
def test_arrays_of_other_libraries_come_back_as_such(kind: type[Shared]) -> None:
    x, w = random(5, 12), random(12)
    found = tw.rms_norm(kind(x), w)
    assert isinstance(found, Shared)
    np.testing.assert_array_equal(found.array, tw.rms_norm(x, w))


def test_other_libraries_may_give_the_output() -> None:
    x, out = random(5, 12), Shared(np.zeros((5, 12), "float32"))
    assert tw.softmax(x, out=out) is out
    np.testing.assert_array_equal(out.array, tw.softmax(x))
    frozen = np.zeros((5, 12), "float32")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out is read-only"):
        tw.softmax(x, out=Shared(frozen))


def test_threads_may_call_at_once() -> None:
    xs = [random(40, 64, seed=i) for i in range(4)]
    results: dict[int, list[np.ndarray]] = {i: [] for i in range(4)}

    def work(i: int) -> None:
        for _ in range(50):
            results[i].append(tw.softmax(xs[i]))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, x in enumerate(xs):
        assert len(results[i]) == 50
        for found in results[i]:
            np.testing.assert_allclose(found, reference.softmax(x), rtol=1e-5)


def test_large_results_are_ordinary_arrays_on_lines_of_their_own() -> None:
    x = np.arange(3 * 40_000, dtype=np.float32).reshape(3, 40_000)
    y = tw.relu(x)
    assert y.dtype == np.float32 and y.flags.c_contiguous and y.flags.writeable
    assert y.ctypes.data % 64 == 0
    z = y[1:]
    del y  # the view keeps the memory
    np.testing.assert_array_equal(z, x[1:])
