"""The rotary embedding on a GPU, bit for bit beside that on the CPU."""

import pytest

from tilewright import transform

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("torch finds no GPU", allow_module_level=True)


def same_bits(found: "torch.Tensor", wanted: "torch.Tensor") -> bool:
    return torch.equal(found.cpu().view(torch.uint8), wanted.view(torch.uint8))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("heads", [1, 5, 32, 128])
@pytest.mark.parametrize("d", [64, 128])
@pytest.mark.parametrize("interleaved", [False, True])
def test_apply_rotary(dtype: "torch.dtype", heads: int, d: int, interleaved: bool) -> None:
    random = torch.Generator().manual_seed(1)
    table = torch.randn((8192, d), generator=random)
    for gap, more in ((128, 1), (16, 0), (3, 0)):  # 3: neither vectors nor words
        for batch in (1, 3):
            x = torch.randn((batch, 201, heads + more, d + gap), generator=random).to(dtype)
            positions = torch.randint(0, 8000, (batch, 201), generator=random)
            for given in (None, positions, positions[:1].int().expand(batch, -1)):
                on_cpu, on_gpu = x.clone(), x.cuda()
                for memory in (on_cpu, on_gpu):
                    device = memory.device
                    transform.apply_rotary(
                        memory[:, :, :heads, -d:],
                        table.to(device),
                        positions=given if given is None else given.to(device),
                        interleaved=interleaved,
                        conjugate=batch == 3,
                        seqlen_offset=17,
                    )
                assert same_bits(on_gpu, on_cpu)
