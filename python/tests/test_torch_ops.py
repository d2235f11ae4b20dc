"""The operators in torch.ops.tilewright: their declarations, and graphs that contain them."""

import pytest

import tilewright as tw

torch = pytest.importorskip("torch", reason="torch is not installed")
ops = pytest.importorskip("tilewright.torch")

on_cuda = pytest.mark.skipif(
    not torch.cuda.is_available() or "cuda" not in str(tw.info()["targets"]),
    reason="no NVIDIA GPU",
)
on_cpu = pytest.mark.skipif(
    not any(t.startswith("cpu") for t in tw.info()["targets"]), reason="no backend for the CPU"
)
DEVICES = [pytest.param("cpu", marks=on_cpu), pytest.param("cuda", marks=on_cuda)]


def samples(device: str) -> dict[str, tuple]:
    """Arguments for each operator."""
    torch.manual_seed(0)

    def t(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device=device)

    def ints(*values: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        return torch.tensor(values, device=device, dtype=dtype)

    # Two tokens in a fused layout of 4 positions, of which one is padding.
    pos = ints(0, 2, -1, 1, dtype=torch.int32)
    experts = ints(0, 0, 1, -1, dtype=torch.int32)
    flags = ints(1, 0, 1).bool()
    maps = ("relu", "gelu", "gelu_tanh", "silu", "sigmoid", "copy", "sum", "max", "argmax")
    return {
        **{name: (t(5, 64),) for name in maps},
        "silu_mul": (t(5, 64), t(5, 64)),
        "add": (t(5, 64), t(64)),
        "mul": (t(5, 64), t(5, 1)),
        "add_relu": (t(5, 64), t(5, 64)),
        "silu_and_mul": (t(5, 64),),
        "cast": (t(5, 64), torch.bfloat16),
        "softmax": (t(5, 64), 0.5),
        "rms_norm": (t(5, 64), t(64), 1e-6),
        "layer_norm": (t(5, 64), t(64), t(64), 1e-5),
        "residual_rms_norm": (t(5, 64), t(5, 64), t(64)),
        "residual_layer_norm": (t(5, 64), t(5, 64), t(64), t(64)),
        "cumsum": (t(5, 64),),
        "top_k": (t(5, 64), 3),
        "transpose": (t(5, 64),),
        "gather_rows": (t(5, 64), ints(4, 0, 9)),
        "scatter_add_rows": (t(3, 64), ints(4, 0, 4), t(5, 64)),
        "per_token_cast": (t(5, 256), "e4m3", 128),
        "per_block_cast": (t(5, 256), "e2m1", 32, 32, True, True, True),
        "per_channel_cast": (t(128, 64), None, "e4m3", 32, True, None, True),
        "per_channel_cast_fused": (
            t(5, 64),
            None,
            "e4m3",
            128,
            False,
            None,
            ints(*[-1, 4, 0, 4] * 8, dtype=torch.int32),
        ),
        "per_channel_cast_and_transpose": (t(128, 64).bfloat16(), "e4m3", 32),
        "per_token_cast_and_cast_back": (t(5, 64), "e2m1", 32, True),
        "per_block_cast_lossless": (
            t(5, 64).to(torch.int8),
            torch.ones(5, 4, device=device),
            "e4m3",
            [1, 32],
            [32, 32],
            True,
            True,
            True,
        ),
        "batched_transpose_weight_sf": (
            [torch.ones(4, 8, device=device), torch.ones(2, 4, 4, device=device)],
            32,
            [False, True],
        ),
        "cast_back": (t(5, 128).to(torch.int8), t(1, 2), "bf16", 32, 128),
        "cast_back_e5m6": (ints(*[60] * 96, dtype=torch.uint8).view(1, 96), t(1, 1), "bf16", 1, 64),
        "per_token_cast_back": (t(5, 32).to(torch.int8), t(5, 2), "fp32", 32),
        "stochastic_cast": (t(3, 4), torch.bfloat16),
        "randn": (t(3, 5), 7, 4, 2),
        "standard_normal": (t(3, 5), 7, 4),
        "apply_rotary": (t(3, 2, 64), t(5, 64), t(3, 1, 64), ints(4, 0, 2), True),
        "mask_indices_by_tp": (ints(1, 0, -1, 5).view(2, 2), 8, 4, 0, 2),
        "inplace_unique_group_indices": (ints(1, 1, -1, 5).view(2, 2), 8),
        "group_count": (ints(1, 0, -1, 1).view(2, 2), 3),
        "aux_fi": (ints(1, 0, -1, 1).view(2, 2), 3, 2),
        "topk_gate": (t(5, 64), 6),
        "topk_sum_and_topk_group_idx": (t(5, 8, 8), 2, 3),
        "normalize_weight": (t(5, 6).abs(),),
        "moe_topk_gate_forward": (
            *(t(3, 16), 2, True, 1, 1.5, 0, "sqrtsoftplus", flags, t(16), t(16), flags, flags),
            *(ints(*range(34), dtype=torch.int32).view(17, 2), ints(*[2] * 17, dtype=torch.int32)),
            *(ints(0, 3, 5, 1, 2, 2).view(3, 2), ~flags),
        ),
        "moe_topk_gate_backward": (
            *(t(3, 16).abs(), ints(0, 3, -1, 1, 2, 2).view(3, 2), t(3, 2), t(3, 2), 1.5),
            *("sqrtsoftplus", flags, t(1, 16)),
        ),
        "get_fused_mapping": (ints(1, 0, -1, 1).view(2, 2), 3, 12, 4),
        "expand_to_fused": (t(2, 64), pos.view(2, 2), experts),
        "expand_to_fused_with_sf": (t(2, 64), t(2, 2), 32, pos.view(2, 2), experts, True),
        "reduce_fused": (t(4, 256), t(2, 2), pos.view(2, 2), "e4m3", t(1), t(4)),
        "gemm": (t(5, 32), t(32, 64), t(64), t(5, 64), "silu"),
        "batched_gemm": (t(2, 5, 32), t(2, 64, 32), None, None, "none", False, True),
        "attention": (t(2, 7, 4, 32), t(2, 9, 2, 32), t(2, 9, 2, 32), None, True),
        "masked_mean_pool": (t(7, 64), ints(0, 3, 7, dtype=torch.int32), True),
    }


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ops.operators())
def test_what_an_operator_declares_is_what_it_does(name: str, device: str) -> None:
    operator = getattr(torch.ops.tilewright, name).default
    torch.library.opcheck(
        operator,
        samples(device)[name],
        test_utils=("test_schema", "test_faketensor", "test_aot_dispatch_dynamic"),
    )


def block(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y, _ = torch.ops.tilewright.residual_rms_norm(x, x * 2, w)
    return torch.ops.tilewright.softmax(y + 1).sum()


@pytest.mark.parametrize("device", DEVICES)
def test_a_graph_goes_through_without_a_break(device: str) -> None:
    x, w = torch.randn(6, 64, device=device), torch.randn(64, device=device)
    backend = "inductor" if device == "cuda" else "aot_eager"  # inductor wants a C++ compiler
    compiled = torch.compile(block, fullgraph=True, backend=backend)
    torch.testing.assert_close(compiled(x, w), block(x, w))


@on_cuda
def test_operators_in_a_cuda_graph() -> None:
    x, w = torch.randn(6, 64, device="cuda"), torch.randn(64, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        block(x, w)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        y = torch.ops.tilewright.rms_norm(x, w)
    x.copy_(torch.randn_like(x))
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(y, tw.rms_norm(x, w))


@on_cuda
def test_two_streams_at_once() -> None:
    w = torch.randn(4096, device="cuda")
    inputs = [torch.randn(2048, 4096, device="cuda") for _ in range(2)]
    wanted = [tw.rms_norm(x, w) for x in inputs]
    streams = [torch.cuda.Stream() for _ in inputs]
    torch.cuda.synchronize()
    found: list[torch.Tensor] = []
    for x, stream in zip(inputs, streams, strict=True):
        with torch.cuda.stream(stream):
            for _ in range(20):
                y = torch.ops.tilewright.rms_norm(x, w)
            found.append(y)
    torch.cuda.synchronize()
    for y, z in zip(found, wanted, strict=True):
        assert torch.equal(y, z)


def test_every_operator_is_tested() -> None:
    assert set(ops.operators()) == set(samples("cpu"))
