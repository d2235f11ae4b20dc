"""Each function of the library, run a hundred times on a GPU: the same bits each time."""

from collections.abc import Callable
from typing import Any

import pytest

import tilewright as tw

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("torch finds no GPU", allow_module_level=True)

RUNS = 100
DIRT = 0xAA


class Samples:
    """Arguments of one dtype, for many blocks of threads."""

    def __init__(self, dtype: "torch.dtype", n: int, h: int) -> None:
        random = torch.Generator("cuda").manual_seed(1)

        def normal(*shape: int) -> "torch.Tensor":
            return torch.randn(shape, generator=random, device="cuda").to(dtype)

        self.x, self.residual, self.gated = normal(n, h), normal(n, h), normal(n, 2 * h)
        self.w, self.b = normal(h), normal(h)
        self.matrix, self.products = normal(h, 192), normal(n, 192)
        self.batch, self.batch_b = normal(5, 70, 100), normal(5, 100, 90)
        self.q, self.k, self.v = normal(2, 150, 4, 64), normal(2, 170, 2, 64), normal(2, 170, 2, 64)
        self.packed = normal(n, 3, 4, 32)
        self.cu = torch.tensor([0, 1, 100, 100, n], dtype=torch.int32, device="cuda")
        self.index = torch.randint(0, n, (3 * n,), generator=random, device="cuda")
        self.few = self.index[:n] % 7
        # Sums of whole numbers don't depend on the order in which atomics add them.
        self.whole = self.x.round().clamp(-1, 1)
        self.a8 = tw.per_token_cast(self.x, "e4m3", 128)
        self.b8 = tw.per_block_cast(self.matrix.T.contiguous(), "e4m3", (128, 128))


CALLS: dict[str, Callable[[Samples], Any]] = {
    "add": lambda s: tw.add(s.x, s.w),
    "add_relu": lambda s: tw.add_relu(s.x, s.residual),
    "argmax": lambda s: tw.argmax(s.x),
    "attention": lambda s: tw.attention(s.q, s.k, s.v, causal=True),
    "attention_packed": lambda s: tw.attention_packed(
        s.packed[:, 0], s.packed[:, 1], s.packed[:, 2], s.cu, len(s.x)
    ),
    "batched_gemm": lambda s: tw.batched_gemm(s.batch, s.batch_b),
    "cast": lambda s: tw.cast(s.x, "e4m3"),
    "copy": lambda s: tw.copy(s.x.T),
    "cumsum": lambda s: tw.cumsum(s.x),
    "gather_rows": lambda s: tw.gather_rows(s.x, s.index),
    "gelu": lambda s: tw.gelu(s.x),
    "gelu_tanh": lambda s: tw.gelu_tanh(s.x),
    "gemm": lambda s: tw.gemm(s.x, s.matrix, residual=s.products, activation="gelu"),
    "gemm_fp8": lambda s: tw.gemm_fp8(*s.a8, *s.b8),
    "layer_norm": lambda s: tw.layer_norm(s.x, s.w, s.b),
    "masked_mean_pool": lambda s: tw.masked_mean_pool(s.x, s.cu, l2_normalize=True),
    "max": lambda s: tw.max(s.x),
    "mul": lambda s: tw.mul(s.x, s.residual),
    "per_block_cast": lambda s: tw.per_block_cast(s.x, "e4m3", (128, 128)),
    "per_token_cast": lambda s: tw.per_token_cast(s.x, "e4m3", 128),
    "relu": lambda s: tw.relu(s.x),
    "residual_layer_norm": lambda s: tw.residual_layer_norm(s.x, s.residual, s.w, s.b),
    "residual_rms_norm": lambda s: tw.residual_rms_norm(s.x, s.residual, s.w),
    "rms_norm": lambda s: tw.rms_norm(s.x, s.w),
    "scatter_add_rows": lambda s: tw.scatter_add_rows(
        s.whole, s.few, out=torch.zeros_like(s.x[:7])
    ),
    "sigmoid": lambda s: tw.sigmoid(s.x),
    "silu": lambda s: tw.silu(s.x),
    "silu_and_mul": lambda s: tw.silu_and_mul(s.gated),
    "silu_mul": lambda s: tw.silu_mul(s.x, s.residual),
    "softmax": lambda s: tw.softmax(s.x),
    "sum": lambda s: tw.sum(s.x),
    "top_k": lambda s: tw.top_k(s.x, 8),
    "transpose": lambda s: tw.transpose(s.x),
}


def bytes_of(result: Any) -> list["torch.Tensor"]:
    outputs = result if isinstance(result, tuple) else (result,)
    return [y.view(-1).view(torch.uint8) for y in outputs]


@pytest.fixture(scope="module", params=[(512, 1024), (257, 1003)], ids=str)
def shape(request: pytest.FixtureRequest) -> tuple[int, int]:
    return request.param


@pytest.fixture(scope="module", params=[torch.float32, torch.bfloat16], ids=str)
def samples(request: pytest.FixtureRequest, shape: tuple[int, int]) -> Samples:
    return Samples(request.param, *shape)


@pytest.mark.parametrize("name", CALLS)
def test_a_hundred_runs_give_the_same_bits(samples: Samples, name: str) -> None:
    first = [y.clone() for y in bytes_of(CALLS[name](samples))]
    for run in range(1, RUNS):
        for y, wanted in zip(bytes_of(CALLS[name](samples)), first, strict=True):
            assert torch.equal(y, wanted), f"run {run} differs"
            y.fill_(DIRT)  # the next result takes this memory: what isn't written shows


def test_every_function_is_among_them() -> None:
    functions = {n for n in tw.__all__ if type(getattr(tw, n)) is type(tw.add)}
    assert functions - {"bench", "compile_text", "info"} == set(CALLS)
