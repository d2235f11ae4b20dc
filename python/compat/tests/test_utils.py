"""Arithmetic on sizes and names of dtypes."""

import pytest

from tile_kernels import utils


def test_sizes() -> None:
    assert [utils.ceil_div(x, 4) for x in (0, 1, 4, 5)] == [0, 1, 1, 2]
    assert [utils.align(x, 16) for x in (0, 1, 16, 17)] == [0, 16, 16, 32]
    powers = [x for x in range(-2, 70) if utils.is_power_of_two(x)]
    assert powers == [1, 2, 4, 8, 16, 32, 64]
    assert [utils.next_power_of_two(x) for x in (0, 1, 2, 3, 4, 5, 8, 9)] == [
        2, 1, 2, 4, 4, 8, 8, 16,
    ]  # fmt: skip


def test_dtypes_have_short_names() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    dtypes = [torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.int8]
    names = ["fp32", "bf16", "e4m3", "e2m1"]
    assert [utils.dtype_to_str(d) for d in dtypes] == names
    assert [utils.str_to_dtype(n) for n in names] == dtypes
    with pytest.raises(ValueError, match=r"torch\.float16 is none of"):
        utils.dtype_to_str(torch.float16)
    with pytest.raises(ValueError, match="'fp16' is none of"):
        utils.str_to_dtype("fp16")
