"""Tensors of torch on the CPU: they come in, go out, and are refused like any other array."""

import numpy as np
import pytest
import reference

import tilewright as tw
from tilewright._tilewright import detached

torch = pytest.importorskip("torch", reason="torch is not installed")


def random(*shape: int, seed: int = 0) -> "torch.Tensor":
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def test_tensors_give_tensors() -> None:
    x, w = random(5, 12), random(12, seed=1)
    found = tw.rms_norm(x, w)
    assert isinstance(found, torch.Tensor)
    assert found.dtype == torch.float32 and found.device.type == "cpu"
    wanted = reference.rms_norm(x.numpy(), w.numpy(), 1e-6)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5)


def test_a_result_lives_on_without_what_made_it() -> None:
    x = random(300, 400)
    rows = tw.relu(x)[1:]
    for _ in range(3):
        tw.relu(-x)  # would take the memory if it were free
    assert torch.equal(rows, torch.relu(x)[1:])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_formats_need_no_keyword(dtype: str) -> None:
    x, w = random(6, 32).to(getattr(torch, dtype)), random(32, seed=1)
    found = tw.rms_norm(x, w)
    assert found.dtype == x.dtype
    wanted = reference.rms_norm(x.float().numpy(), w.numpy(), 1e-6)
    np.testing.assert_allclose(found.float().numpy(), wanted, rtol=2**-8)


def test_out_is_written_in_place_and_returned() -> None:
    x, out = random(4, 9), torch.zeros(4, 9)
    assert tw.softmax(x, out=out) is out
    np.testing.assert_allclose(out.numpy(), reference.softmax(x.numpy()), rtol=1e-5)
    wanted = out.clone()
    assert tw.softmax(x, out=x) is x
    assert torch.equal(x, wanted)


def test_views_with_gaps_between_rows_are_read_and_written_in_place() -> None:
    wide, out = random(5, 40), torch.zeros(10, 24)
    x, y = wide[:, 4:28], out[::2]
    assert tw.softmax(x, out=y) is y
    np.testing.assert_allclose(y.numpy(), reference.softmax(x.numpy()), rtol=1e-5)
    assert not out[1::2].any()


def test_rows_with_gaps_inside_are_refused() -> None:
    with pytest.raises(ValueError, match="stride"):
        tw.softmax(random(4, 16)[:, ::2])


def test_tensors_and_numpy_arrays_mix() -> None:
    x, w = random(5, 12), random(12, seed=1)
    wanted = tw.rms_norm(x, w)
    assert torch.equal(tw.rms_norm(x, w.numpy()), wanted)  # the first decides the kind
    found = tw.rms_norm(x.numpy(), w)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, wanted.numpy())


def test_a_kernel_of_text_takes_tensors() -> None:
    kernel = tw.compile_text("""tilewright ir 1
program "twice" {
  symbol n: i64
  input X: bf16[n]
  output Y: f32[n]
  launch bx in n {
    Y[bx] = cast(X[bx], f32) * 2.0
  }
}
""")
    x = random(7).to(torch.bfloat16)
    assert torch.equal(kernel(x), x.float() * 2)
    with pytest.raises(TypeError, match=r"X expected bf16, got f32"):
        kernel(x.float())


def test_a_tensor_that_needs_its_gradient_is_refused_by_torch() -> None:
    with pytest.raises(BufferError, match="detach"):
        tw.softmax(random(2, 3).requires_grad_())


def test_a_detached_function_takes_it_and_names_what_is_wrong() -> None:
    softmax = detached(tw.softmax, AssertionError)
    x, out = random(2, 3), torch.zeros(2, 3)
    wanted = tw.softmax(x)
    assert torch.equal(softmax(x.requires_grad_(), out=out), wanted)
    assert softmax(x, out=out) is out
    with pytest.raises(AssertionError, match="softmax: x is of type list") as error:
        softmax([x])
    assert isinstance(error.value.__cause__, TypeError)
    with pytest.raises(AssertionError, match="incompatible function arguments"):
        softmax(x, scale=1.0, nothing=2)
    with pytest.raises(BufferError, match="detach"):
        tw.softmax(x)  # which stays as it is


def test_a_detached_function_passes_other_errors_on() -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("key")

    with pytest.raises(KeyError, match="key"):
        detached(fail, AssertionError)(1, two=2)


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (2, 3, 4), (5,), ()])
def test_results_are_memory_of_torch_itself(shape: tuple[int, ...]) -> None:
    x = random(*shape)
    y = tw.relu(x)
    assert y.untyped_storage().resizable()  # unlike what came through DLPack
    assert y.shape == x.shape and y.stride() == x.stride()
    assert y.untyped_storage().nbytes() == 4 * x.numel()


def test_results_of_every_dtype_are_those_of_torch() -> None:
    x = random(4, 64)
    names = {"f64": "float64", "f16": "float16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
    for short, name in names.items():
        dtype = getattr(torch, name)
        found = tw.cast(x, short)
        assert found.dtype == dtype
        assert found.untyped_storage().resizable()
        assert torch.equal(found.double(), x.to(dtype).double())


def test_a_tensor_without_memory_is_refused_by_torch() -> None:
    with pytest.raises((BufferError, ValueError), match="meta"):
        tw.softmax(torch.empty(2, 3, device="meta"))
