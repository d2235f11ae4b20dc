"""What needs an NVIDIA GPU: streams, graphs, devices that are not named, and times."""

import pytest
import torch

from tile_kernels import config, moe, quant, rand
from tile_kernels import torch as reference
from tile_kernels.testing.generator import generate_num_sms, generate_topk_idx
from tile_kernels.testing.numeric import assert_equal
from tile_kernels.testing.pytest.timer import time_us
from tile_kernels.transpose import transpose

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no NVIDIA GPU")
PARAMS = {"num_send_tokens": 512, "num_topk": 6, "num_experts": 9, "num_ep_ranks": 8}


def test_devices_that_are_not_named_are_the_gpu() -> None:
    assert config.get_device() == "cuda"
    rand.set_seed(5)
    x = rand.randn(100, dtype=torch.bfloat16)
    torch.manual_seed(5)
    assert_equal(x, torch.randn(100, dtype=torch.bfloat16, device="cuda"))
    assert generate_topk_idx(PARAMS).is_cuda
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    assert config.get_device_num_sms() == properties.multi_processor_count
    assert config.get_max_smem_per_sm() >= 64 * 1024


def test_results_are_those_of_the_cpu() -> None:
    x = torch.randn(33, 576, dtype=torch.bfloat16)
    for fmt in ("e4m3", "e2m1"):
        flags = {"use_tma_aligned_col_major_sf": True, "round_sf": True, "use_packed_ue8m0": True}
        on_gpu = quant.per_token_cast(x.cuda(), fmt, 32, **flags)
        for found, wanted in zip(on_gpu, quant.per_token_cast(x, fmt, 32, **flags), strict=True):
            assert_equal(found.cpu(), wanted, check_stride=False)
            assert found.stride() == wanted.stride()
    assert_equal(transpose(x.cuda()[:, :64].repeat(2, 1)[:64]), transpose(
        x[:, :64].repeat(2, 1)[:64]).cuda())  # fmt: skip


def test_work_goes_to_the_current_stream() -> None:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = torch.randn(4096, 4096, device="cuda")
        for _ in range(20):
            x = x @ x * 1e-3
        codes, sf = quant.per_token_cast(x, "e4m3", 128)
        wanted = reference.cast(x, "e4m3", (1, 128))
    stream.synchronize()
    assert_equal(codes, wanted[0])
    assert_equal(sf, wanted[1])


def test_calls_can_be_captured() -> None:
    idx = generate_topk_idx(PARAMS)
    scores = torch.randn(512, 72, device="cuda")

    def run() -> tuple:
        maps = moe.get_fused_mapping(idx, 9, 100000, 16)
        return *maps[:7], moe.topk_gate(scores, 6), moe.group_count(idx, 9)

    wanted = run()  # compiled
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = run()
    for t in found:
        t.zero_()
    graph.replay()
    for a, b in zip(found, wanted, strict=True):
        assert_equal(a, b)


def test_results_do_not_depend_on_the_number_of_cores() -> None:
    idx = generate_topk_idx(PARAMS)
    results = []
    for num_sms in generate_num_sms(2):
        config.set_num_sms(num_sms)
        maps = moe.get_fused_mapping(idx, 9, 0, 16)
        groups = idx.clone()
        moe.inplace_unique_group_indices(groups, 72)
        results.append((*maps[:7], moe.group_count(idx, 9), moe.aux_fi(idx, 9, 6), groups))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert_equal(a, b)


@pytest.mark.parametrize("backend", ["cupti", "event", "cudagraph", "wall"])
def test_a_copy_is_timed(backend: str) -> None:
    x = torch.empty(1 << 26, dtype=torch.float32, device="cuda")
    y = torch.empty_like(x)
    us = time_us(lambda: y.copy_(x), backend=backend)
    speed = 2 * x.numel() * 4 / us / 1e3
    assert 300 < speed < 20000  # GB/s
