"""Kernels for language models, and a compiler for more of them.

Functions take anything with DLPack (numpy arrays, CPU tensors of torch and others) and return
arrays of the same kind. Every result can be written to an array of the caller's, `out`. numpy has
no bf16 and no fp8: such arrays have a dtype of the package ml_dtypes, or are uint16 and uint8 with
`dtype="bf16"` (or "e4m3", ...), which says what the unsigned integers of that width hold.

Bad arguments are a ValueError, wrong dtypes and kinds a TypeError, what a target lacks is a
NotImplementedError, and a kernel that fails while it runs a RuntimeError. The GIL is free while
kernels compile and run; all functions can be called from several threads.
"""

from typing import Any, Protocol

from . import moe, quant, rand, transform
from ._tilewright import (
    CallTime,
    Kernel,
    __version__,
    add,
    add_relu,
    argmax,
    attention,
    attention_packed,
    batched_gemm,
    bench,
    cast,
    compile_text,
    copy,
    cumsum,
    gather_rows,
    gelu,
    gelu_tanh,
    gemm,
    gemm_fp8,
    info,
    layer_norm,
    masked_mean_pool,
    max,
    mul,
    per_block_cast,
    per_token_cast,
    relu,
    residual_layer_norm,
    residual_rms_norm,
    rms_norm,
    scatter_add_rows,
    sigmoid,
    silu,
    silu_and_mul,
    silu_mul,
    softmax,
    sum,
    top_k,
    transpose,
)


class Array(Protocol):
    """What functions take: an array that offers its memory through DLPack."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any:
        """A capsule that describes the memory."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Kind and number of the device that the memory is on."""


__all__ = [
    "Array",
    "CallTime",
    "Kernel",
    "__version__",
    "add",
    "add_relu",
    "argmax",
    "attention",
    "attention_packed",
    "batched_gemm",
    "bench",
    "cast",
    "compile_text",
    "copy",
    "cumsum",
    "gather_rows",
    "gelu",
    "gelu_tanh",
    "gemm",
    "gemm_fp8",
    "info",
    "layer_norm",
    "masked_mean_pool",
    "max",
    "moe",
    "mul",
    "per_block_cast",
    "per_token_cast",
    "quant",
    "rand",
    "relu",
    "residual_layer_norm",
    "residual_rms_norm",
    "rms_norm",
    "scatter_add_rows",
    "sigmoid",
    "silu",
    "silu_and_mul",
    "silu_mul",
    "softmax",
    "sum",
    "top_k",
    "transform",
    "transpose",
]
