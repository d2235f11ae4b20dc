"""The library's functions on a GPU, beside torch."""

import pytest

import tilewright as tw

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("torch finds no GPU", allow_module_level=True)

FLOATS = [torch.float32, torch.bfloat16, torch.float16]
# 0, 1, sizes that divide nothing, sizes that fill vectors, and rows longer than a block holds.
SHAPES = [(0, 8), (1, 1), (3, 7), (5, 257), (33, 1000), (64, 4096), (2, 20001)]


def random(*shape: int, dtype: "torch.dtype" = torch.float32, seed: int = 0) -> "torch.Tensor":
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to("cuda", dtype)


def with_gap(x: "torch.Tensor", gap: int) -> "torch.Tensor":
    """The same rows, with elements between them."""
    wide = torch.empty((x.shape[0], x.shape[1] + gap), dtype=x.dtype, device=x.device)
    wide[:, : x.shape[1]] = x
    return wide[:, : x.shape[1]]


@pytest.mark.parametrize("gap", [0, 3, 8])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_folds_and_scans_of_rows(shape: tuple[int, int], dtype: "torch.dtype", gap: int) -> None:
    x = with_gap(random(*shape, dtype=dtype), gap)
    length = shape[1]
    exact = x.double()
    bound = {"rtol": 1e-6, "atol": 1e-6 * length}
    found = tw.sum(x, out_dtype="f32").double()
    torch.testing.assert_close(found, exact.sum(1), **bound)
    assert torch.equal(tw.max(x), x.amax(1))
    # torch's argmax may give any index of the largest.
    first = (exact == exact.amax(1, keepdim=True)).int().argmax(1)
    assert torch.equal(tw.argmax(x), first)
    found = tw.cumsum(x, out_dtype="f32").double()
    torch.testing.assert_close(found, exact.cumsum(1), **bound)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n, h, k", [(0, 9, 2), (1, 1, 1), (5, 7, 7), (100, 256, 8), (9, 1000, 32)])
def test_top_k_is_a_stable_sort(n: int, h: int, k: int, dtype: "torch.dtype") -> None:
    for x in (random(n, h, dtype=dtype), random(n, h, dtype=dtype).round()):  # with equal ones
        values, indices = tw.top_k(x, k)
        wanted, order = torch.sort(x, dim=1, descending=True, stable=True)
        assert torch.equal(values, wanted[:, :k])
        assert torch.equal(indices, order[:, :k])


@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16, torch.float32, torch.int64])
@pytest.mark.parametrize("shape", [(1, 0, 5), (1, 1, 257), (3, 130, 70), (2, 512, 1024)])
def test_moves_keep_elements(shape: tuple[int, int, int], dtype: "torch.dtype") -> None:
    x = (100 * random(*shape).abs()).to(dtype)
    assert torch.equal(tw.transpose(x), x.transpose(1, 2))
    assert torch.equal(tw.transpose(x[0]), x[0].T)
    assert torch.equal(tw.copy(x), x)
    for view in (x[:, ::2, 1:], x.transpose(1, 2), x[..., ::3]):
        assert torch.equal(tw.copy(view, out=torch.empty_like(view)), view)


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_of_elements_broadcast(dtype: "torch.dtype") -> None:
    for shape in [(0, 4), (3, 5, 257), (64, 2048)]:
        a = random(*shape, dtype=dtype)
        for b in (random(*shape, dtype=dtype), random(shape[-1], dtype=dtype), random(1)):
            b = b.to(dtype)
            assert torch.equal(tw.add(a, b), a + b)
            assert torch.equal(tw.mul(a, b), a * b)
            assert torch.equal(tw.add_relu(a, b), torch.relu(a + b))
    x = random(33, 2 * 1000, dtype=dtype)
    gate, up = x.double().chunk(2, dim=1)
    found = tw.silu_and_mul(x).double()
    torch.testing.assert_close(found, torch.nn.functional.silu(gate) * up, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("dtype", FLOATS)
def test_residual_norms_are_norms_of_the_sum(dtype: "torch.dtype") -> None:
    for n, h in [(1, 33), (70, 384), (33, 7168)]:
        x, residual = random(n, h, dtype=dtype), random(n, h, dtype=dtype, seed=1)
        w, b = random(h, dtype=dtype, seed=2), random(h, dtype=dtype, seed=3)
        y, total = tw.residual_rms_norm(x, residual, w, 1e-6)
        assert torch.equal(total, x + residual)
        exact = total.double()
        wanted = exact * torch.rsqrt((exact**2).mean(1, keepdim=True) + 1e-6) * w.double()
        torch.testing.assert_close(y.double(), wanted, rtol=1e-2, atol=1e-3)
        y, total = tw.residual_layer_norm(x, residual, w, b, out=x, sum=residual)
        assert y is x and total is residual
        wanted = torch.nn.functional.layer_norm(exact, (h,), w.double(), b.double(), 1e-5)
        torch.testing.assert_close(y.double(), wanted, rtol=1e-2, atol=2e-2)


@pytest.mark.parametrize("dtype", FLOATS)
def test_scatter_adds_rows(dtype: "torch.dtype") -> None:
    for n, h in [(0, 5), (3, 257), (1000, 1024)]:
        x = random(n, h, dtype=dtype).round()  # whole numbers: sums don't depend on their order
        index = torch.randint(0, 50, (n,), device="cuda")
        for sum_type in {dtype, torch.float32}:
            out = torch.zeros((50, h), dtype=sum_type, device="cuda")
            wanted = torch.zeros((50, h), dtype=torch.float64, device="cuda")
            wanted.index_add_(0, index, x.double())
            assert torch.equal(tw.scatter_add_rows(x, index, out=out).double(), wanted)


def test_casts_are_those_of_torch() -> None:
    x = random(33, 1000) * 100
    for name, dtype in [("bf16", torch.bfloat16), ("f16", torch.float16), ("f64", torch.float64)]:
        assert torch.equal(tw.cast(x, name), x.to(dtype))
        assert torch.equal(tw.cast(x.to(dtype), "f32"), x.to(dtype).float())
    codes = tw.cast(x.clamp(-448, 448), "e4m3").view(torch.float8_e4m3fn)
    assert torch.equal(codes.float(), x.clamp(-448, 448).to(torch.float8_e4m3fn).float())
