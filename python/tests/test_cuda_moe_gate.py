"""Gates of a mixture of experts on a GPU, beside those on the CPU."""

import pytest

from tilewright import moe

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("torch finds no GPU", allow_module_level=True)

TOKENS = [0, 1, 512, 8001]
# Experts, shared experts, experts of a token.
CHOICES = [(72, 1, 6), (32, 2, 6), (16, 2, 6), (36, 2, 6), (108, 2, 6), (144, 2, 6), (256, 2, 8)]


def random(*shape: int, seed: int = 0) -> "torch.Tensor":
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


def sqrt_softplus(x: "torch.Tensor") -> "torch.Tensor":
    return torch.nn.functional.softplus(x, threshold=20).sqrt()


def clear_logits(tokens: int, experts: int, k: int, bias: "torch.Tensor") -> "torch.Tensor":
    """Random ones without near ties between the keys that decide."""
    logits = random(tokens, experts)
    for seed in range(1, 100):
        keys = (sqrt_softplus(logits) + bias).sort(dim=1, descending=True).values[:, : k + 1]
        unclear = ((keys[:, :-1] - keys[:, 1:]) < 2e-6).any(1)
        if not unclear.any():
            return logits
        logits[unclear] = random(int(unclear.sum()), experts, seed=seed)
    raise AssertionError("no clear logits")


def cuda(value: object) -> object:
    return value.cuda() if isinstance(value, torch.Tensor) else value


@pytest.mark.parametrize("tokens", [0, 1, 512, 4001, 8001])
@pytest.mark.parametrize(
    ("experts", "k"),
    [
        *((72, 6), (16, 6), (36, 6), (144, 6), (256, 8), (1, 1), (5, 5), (33, 32), (257, 1)),
        *((1000, 32), (4096, 32)),
    ],
)
def test_topk_gate(tokens: int, experts: int, k: int) -> None:
    for digits in (7, 0):  # or many equal ones
        scores = random(tokens, experts).round(decimals=digits)
        found = moe.topk_gate(scores.cuda(), k)
        assert found.dtype == torch.int64 and found.is_contiguous()
        wanted = scores.sort(dim=1, descending=True, stable=True).indices[:, :k]
        assert torch.equal(found.cpu(), wanted)


@pytest.mark.parametrize("tokens", [0, 1, 4001, 8001])
@pytest.mark.parametrize("experts", [72, 256])
@pytest.mark.parametrize("groups", [4, 8, 12, 16, 32])
def test_topk_sum_and_topk_group_idx(tokens: int, experts: int, groups: int) -> None:
    scores = random(tokens, groups, experts // groups)
    for summands in (1, 2):
        for k in (2, 4, groups):
            found = moe.topk_sum_and_topk_group_idx(scores.cuda(), summands, k)
            assert torch.equal(found.cpu(), moe.topk_sum_and_topk_group_idx(scores, summands, k))


@pytest.mark.parametrize("tokens", TOKENS)
@pytest.mark.parametrize("k", [1, 2, 6, 8, 9, 32, 40])
def test_normalize_weight(tokens: int, k: int) -> None:
    weights = random(tokens, k).abs()
    found = moe.normalize_weight(weights.cuda(), wide_rows=k > 32)
    wanted = moe.normalize_weight(weights, wide_rows=k > 32)
    assert all(torch.equal(a.cpu(), b) for a, b in zip(found, wanted, strict=True))


def some_gate(tokens: int, experts: int, shared: int, k: int, options: int) -> dict:
    turn = torch.arange(tokens) % 5
    counts = torch.arange(experts + shared, dtype=torch.int32) % 3 + 1
    places = torch.full((experts + shared, 3), -1, dtype=torch.int32)
    places[torch.arange(3) < counts[:, None]] = torch.arange(int(counts.sum()), dtype=torch.int32)
    bias = random(experts, seed=1)
    given = torch.arange(k).flip(0).repeat(tokens, 1)
    return {
        "logits": clear_logits(tokens, experts, k, bias),
        "num_topk": k,
        "use_shared_as_routed": shared > 0,
        "num_shared_experts": shared,
        "routed_scaling_factor": 1.5,
        "ep_rank": 3,
        "bias": bias,
        "scores": torch.full((tokens, experts), 7.0),
        "unmapped_topk_idx": torch.nn.functional.pad(given, (1, 2))[:, 1:-2],
        **({"mask": turn != 0} if options & 1 else {}),
        **({"fix_routing_mask": turn == 1} if options & 2 else {}),
        **({"force_random": turn == 2} if options & 4 else {}),
        **({"to_physical_map": places, "logical_count": counts} if options & 8 else {}),
    }


@pytest.mark.parametrize("tokens", TOKENS)
@pytest.mark.parametrize(("experts", "shared", "k"), [*CHOICES, (4, 0, 4), (1024, 0, 32)])
@pytest.mark.parametrize("options", [0, 1, 2, 4, 8, 15])
def test_moe_topk_gate_forward(
    tokens: int, experts: int, shared: int, k: int, options: int
) -> None:
    args = some_gate(tokens, experts, shared, k, options)
    on_gpu = {name: cuda(value) for name, value in args.items()}
    found = [*moe.moe_topk_gate_forward(**on_gpu)]
    wanted = [*moe.moe_topk_gate_forward(**args)]
    assert torch.equal(found[0].cpu(), wanted[0])
    torch.testing.assert_close(found[1].cpu(), wanted[1], rtol=1e-5, atol=1e-8)
    assert torch.equal(on_gpu["unmapped_topk_idx"].cpu(), args["unmapped_topk_idx"])
    torch.testing.assert_close(on_gpu["scores"].cpu(), args["scores"], rtol=1e-6, atol=0)

    # Where logits count, scores are torch's.
    counts = torch.ones(tokens, dtype=torch.bool)
    if options & 1:
        counts &= args["mask"]
    if options & 4:
        counts &= ~args["force_random"]
    counts = counts.cuda()
    u = sqrt_softplus(on_gpu["logits"])
    torch.testing.assert_close(on_gpu["scores"][counts], u[counts], rtol=5e-7, atol=0)
    again = {
        name: cuda(value) for name, value in some_gate(tokens, experts, shared, k, options).items()
    }
    out = tuple(torch.empty_like(t) for t in found)
    got = moe.moe_topk_gate_forward(**again, out=out)
    assert got[0] is out[0] and got[1] is out[1]
    for a, b in zip(out, found, strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("scoring_func", ["sigmoid", "sqrtsoftplus", "softmax"])
@pytest.mark.parametrize(("groups", "kept"), [(0, 0), (8, 8), (8, 4)])
@pytest.mark.parametrize("tokens", [0, 1, 36, 4001, 8001])
@pytest.mark.parametrize(("experts", "shared", "k"), [(72, 1, 6), (256, 2, 8)])
def test_top2_sum_gate(
    scoring_func: str, groups: int, kept: int, tokens: int, experts: int, shared: int, k: int
) -> None:
    # Keys far apart in every scoring: logits are a permutation of equally distant numbers.
    order = random(tokens, experts).argsort(dim=1)
    logits = (order.float() - experts / 2) / (experts / 8)
    args = some_gate(tokens, experts, shared, k, 11)
    masks = [
        args[name] for name in ("mask", "fix_routing_mask", "to_physical_map", "logical_count")
    ]
    for tp_rank in (0, 1):
        rest = (k, kept, groups, True, shared, 1.5, 3, 4, tp_rank, 2, scoring_func)
        results = []
        for place in (cuda, lambda x: x.clone()):
            unmapped = place(args["unmapped_topk_idx"])
            idx, weights = moe.top2_sum_gate(
                place(logits), place(torch.zeros(experts)), *rest, *map(place, masks), unmapped
            )
            results.append([t.cpu() for t in (idx, unmapped, weights)])
        found, wanted = results
        assert torch.equal(found[0], wanted[0]) and torch.equal(found[1], wanted[1])
        torch.testing.assert_close(found[2], wanted[2], rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("tokens", TOKENS)
@pytest.mark.parametrize(("experts", "k"), [(72, 6), (36, 6), (256, 8), (5, 5), (1024, 32)])
@pytest.mark.parametrize("sequences", [0, 1, 2])
def test_moe_topk_gate_backward(tokens: int, experts: int, k: int, sequences: int) -> None:
    tokens *= max(sequences, 1)
    scores = sqrt_softplus(random(tokens, experts) * 4)
    idx = scores.argsort(dim=1)[:, :k].clone()
    idx[::3, 0] = -1
    _, weights = moe.normalize_weight(scores.gather(1, idx.clamp(min=0)))
    args = [scores, idx, weights * 1.5, random(tokens, k, seed=2), 1.5, "sqrtsoftplus"]
    if sequences > 0:
        args += [torch.arange(tokens) % 7 != 1, random(sequences, experts)]
    wanted = moe.moe_topk_gate_backward(*args)
    on_gpu = [cuda(arg) for arg in args]
    found = moe.moe_topk_gate_backward(*on_gpu)
    most = float(wanted.abs().max()) if wanted.numel() else 0.0
    torch.testing.assert_close(found.cpu(), wanted, rtol=1e-5, atol=1e-5 * most)
    out = torch.empty_like(found)
    assert moe.moe_topk_gate_backward(*on_gpu, *[None] * (8 - len(args)), out) is out
    assert torch.equal(out, found)


def test_gates_in_a_cuda_graph() -> None:
    scores = random(512, 256).cuda()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        moe.topk_gate(scores, 8)
        moe.moe_topk_gate(scores, 8, False, 0, 1.5, 0)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        idx = moe.topk_gate(scores, 8)
        gate = moe.moe_topk_gate(scores, 8, False, 0, 1.5, 0)
    scores.copy_(random(512, 256, seed=9))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(idx, moe.topk_gate(scores, 8))
    for a, b in zip(gate, moe.moe_topk_gate(scores, 8, False, 0, 1.5, 0), strict=True):
        assert torch.equal(a, b)
