"""Standard normals on a GPU, bit for bit those of torch; and casts that round at random."""

import pytest

from tilewright import quant, rand

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("torch finds no GPU", allow_module_level=True)

from tilewright import torch as ours  # noqa: E402

DTYPES = [torch.float32, torch.bfloat16, torch.float16]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [1, 7, 1000, 270336, 1 << 20, 10_000_019])
def test_the_numbers_of_torch(dtype: "torch.dtype", size: int) -> None:
    properties = torch.cuda.get_device_properties(0)
    groups = properties.multi_processor_count * (properties.max_threads_per_multi_processor // 256)
    for seed in (0, 12345678901, -1):
        generator = torch.Generator("cuda").manual_seed(seed)
        for _ in range(2):
            offset = generator.get_offset()
            wanted = torch.randn(size, device="cuda", dtype=dtype, generator=generator)
            found = rand.randn(torch.empty_like(wanted), seed % 2**64, offset, groups)
            assert torch.equal(found.view(torch.uint8), wanted.view(torch.uint8))
            assert generator.get_offset() == offset + rand.randn_words(size, groups)


@pytest.mark.parametrize("dtype", [None, *DTYPES, torch.float64])
@pytest.mark.parametrize("shape", [(), (0,), (300, 1001), (3, 70000)])
def test_in_the_place_of_torch(dtype: "torch.dtype", shape: tuple) -> None:
    torch.manual_seed(5)
    wanted = [torch.randn(shape, dtype=dtype, device="cuda") for _ in range(2)]
    after = torch.cuda.get_rng_state()
    torch.manual_seed(5)
    for tensor in wanted:
        found = ours.randn(*shape, dtype=dtype, device="cuda")
        assert found.dtype == tensor.dtype and torch.equal(found, tensor)
    assert torch.equal(torch.cuda.get_rng_state(), after)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_release_of_torch_is_known(dtype: torch.dtype) -> None:
    assert ours._are_those_of_torch(torch.device("cuda", 0), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", [0, 1, 3, 5, 1000, 4097, 1 << 20, 5_000_019])
def test_standard_normals_have_the_bits_of_the_cpu(dtype: "torch.dtype", size: int) -> None:
    for seed, stream in ((0, 0), (12345678901, 3), (2**64 - 1, 2**64 - 1)):
        found = rand.standard_normal(torch.empty(size, dtype=dtype, device="cuda"), seed, stream)
        wanted = rand.standard_normal(torch.empty(size, dtype=dtype), seed, stream)
        assert torch.equal(found.cpu().view(torch.uint8), wanted.view(torch.uint8))


@pytest.mark.parametrize("size", [4, 1000, 1 << 20])
def test_stochastic_casts_have_the_bits_of_the_cpu(size: int) -> None:
    x = torch.randn(size) * 2.0 ** torch.randint(-20, 12, (size,))
    for source, to in ((x, "bf16"), (x, "e4m3"), (x.bfloat16(), "e4m3")):
        found = quant.stochastic_cast(source.cuda(), to).cpu()
        wanted = quant.stochastic_cast(source, to)
        assert torch.equal(found.view(torch.uint8), wanted.view(torch.uint8))
    for fmt in ("e4m3", "e2m1"):
        rows = x.view(-1, 4)[: size // 256 * 64].view(-1, 256)
        pairs = zip(
            quant.per_token_cast(rows.cuda(), fmt, 32, stochastic_cast=True),
            quant.per_token_cast(rows, fmt, 32, stochastic_cast=True),
            strict=True,
        )
        for found, wanted in pairs:
            assert torch.equal(found.cpu().view(torch.uint8), wanted.view(torch.uint8))
