"""Tensors of more than 2^31 elements on a GPU. torch checks them part by part."""

from collections.abc import Callable, Iterator

import pytest

import tilewright as tw

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("torch finds no GPU", allow_module_level=True)

LIMIT = 1 << 31
PART = 1 << 28
bf16, f32 = torch.bfloat16, torch.float32


@pytest.fixture(autouse=True)
def memory() -> Iterator[None]:
    free, _ = torch.cuda.mem_get_info()
    if free < 40 << 30:
        pytest.skip(f"{free >> 30} GiB are free on the GPU, these tests take up to 40")
    yield
    torch.cuda.empty_cache()


def random(*shape: int, dtype: "torch.dtype") -> "torch.Tensor":
    x = torch.empty(shape, dtype=dtype, device="cuda")
    random = torch.Generator("cuda").manual_seed(1)
    for part in x.view(-1).split(PART):
        if dtype.is_floating_point:
            part.normal_(generator=random)
        else:
            part.random_(generator=random)
    return x


def expect_equal(found: "torch.Tensor", x: "torch.Tensor", f: Callable) -> None:
    """found is f(x), bit for bit."""
    parts = zip(found.view(-1).split(PART), x.view(-1).split(PART), strict=True)
    for i, (y, part) in enumerate(parts):
        wanted = f(part)
        assert y.dtype == wanted.dtype
        assert torch.equal(y.view(torch.uint8), wanted.view(torch.uint8)), f"part {i}"


def test_copy() -> None:
    for dtype in (torch.uint8, bf16):
        x = random(LIMIT + 4099, dtype=dtype)
        expect_equal(tw.copy(x), x, lambda part: part)


def test_copy_of_rows_with_gaps() -> None:
    x = random(65537, 32771, dtype=torch.uint8)
    found = tw.copy(x[:, :32768])
    assert found.numel() > LIMIT and found.is_contiguous()
    for y, part in zip(found.split(8192), x.split(8192), strict=True):
        assert torch.equal(y, part[:, :32768])


def test_relu() -> None:
    x = random(LIMIT + 4099, dtype=bf16)
    expect_equal(tw.relu(x), x, torch.relu)


def test_cast_to_bf16() -> None:
    x = random(LIMIT + 4099, dtype=f32)
    expect_equal(tw.cast(x, "bf16"), x, lambda part: part.to(bf16))


def test_cast_to_e4m3() -> None:
    x = random(LIMIT + 4099, dtype=bf16)
    expect_equal(tw.cast(x, "e4m3"), x, lambda part: part.to(torch.float8_e4m3fn))


@pytest.mark.parametrize("rows, columns", [((1 << 26) + 1, 32), (32769, 65536), (2200001, 1003)])
def test_softmax(rows: int, columns: int) -> None:
    x = random(rows, columns, dtype=bf16)
    assert x.numel() > LIMIT
    found = tw.softmax(x)
    # The first and the last rows, those around element 2^31, and others.
    middle = LIMIT // columns
    places = [torch.arange(40), torch.arange(middle - 40, min(middle + 40, rows))]
    places += [torch.arange(rows - 40, rows), torch.randint(0, rows, (1000,))]
    at = torch.cat(places).cuda()
    torch.testing.assert_close(
        found[at].double(), torch.softmax(x[at].double(), 1), rtol=2**-8, atol=1e-7
    )
    assert torch.isfinite(found.view(-1)[-1])
