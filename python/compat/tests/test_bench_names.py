"""Names of parameters, and output that isn't wanted."""

import os
import sys

import pytest
import torch

from tile_kernels.testing import bench
from tile_kernels.testing.bench import format_param_id, make_param_id, make_param_key


def test_ids_have_short_names() -> None:
    params = {"num_tokens": 512, "hidden": 4096, "round_sf": True, "sf": None}
    assert make_param_id(params) == "num_tokens=512,hidden=4096,round=True,"
    params = {"num_tokens": 5, "hidden": 16}
    assert make_param_id(params, display=True) == "num_tokens=5,    hidden=16,  "
    assert make_param_id({}) == ""
    params = {
        "num_ep_ranks": 8, "num_experts": 32, "use_tma_aligned_col_major_sf": False,
        "use_packed_ue8m0": True, "use_e4m3_sf": True, "other": "x",
    }  # fmt: skip
    assert make_param_id(params) == "ep=8,experts=32,col=False,ue8m0=True,e4m3sf=True,other=x,"
    shown = make_param_id(params, display=True)
    assert shown == "ep=8, experts=32, col=False,ue8m0=True, e4m3sf=True, other=x,"


def test_ids_are_formatted_again() -> None:
    for text in ("num_tokens=512,hidden=4096,round=True,", "abc", "fp8,num_tokens=1,-x", ""):
        assert format_param_id(text) == text
    assert format_param_id("num_ep_ranks=8,round_sf=True,") == "ep=8,round=True,"
    assert format_param_id("ep=8,k=2,hidden=16,", display=True) == "ep=8, k=2,hidden=16,  "
    assert format_param_id("hidden=16", display=True) == "hidden=16,  "


def test_ids_of_v1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TK_API_LEVEL", "v1")
    params = {"dtype": torch.bfloat16, "block": (32, 128), "sf": None, "num_experts": 9}
    assert make_param_id(params) == "dtype=bf16-block=32x128-sf=None-num_experts=9"
    assert make_param_id({}) == "default"
    assert make_param_key({"num_tokens": 12, "k": 3}) == "num_tokens=   12,k=3"
    assert bench.dtype_to_str(torch.int8) == "e2m1"


def test_parameters_of_casts_are_picked() -> None:
    params = {"hidden": 1, "round_sf": True, "use_packed_ue8m0": False}
    assert bench.get_cast_params(params) == {"round_sf": True, "use_packed_ue8m0": False}


def test_means_are_printed(capsys: pytest.CaptureFixture) -> None:
    bench.print_average_perf([1.0, 100.0], [10.0, 1000.0], [2.0, 0.5])
    assert capsys.readouterr().out == "geomean: 10.0 us, 100.0 GB/s, 1.00x\n"


def test_output_goes_nowhere(capfd: pytest.CaptureFixture) -> None:
    with bench.suppress_stdout_stderr():
        print("hidden")
        os.write(2, b"hidden too")
    with bench.empty_suppress():
        print("seen", file=sys.stderr, flush=True)
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "seen\n")
