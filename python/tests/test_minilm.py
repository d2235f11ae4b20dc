"""The model of examples/minilm with small random weights, beside its own reference."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw

# In the repository, or in the archive of ./dev pack.
sys.path.extend(str(p / "examples" / "minilm") for p in list(Path(__file__).parents)[1:3])
import exact
import tensors as files
from arrays import OnCpu, OnCuda
from model import Model
from weights import ModelError, Weights, load_weights, save_rounded

HIDDEN, HEADS, LAYERS, WORDS = 128, 4, 2, 50
TEXTS = [[7, 3, 49], [0], list(range(40)), [5] * 33]
# Of the embeddings with those of the reference: as large as the model's own in bf16 and fp8.
LEAST_COSINE = {"f32": 1 - 1e-6, "bf16": 1 - 1e-3, "fp8": 0.98}

on_cuda = pytest.mark.skipif(
    not any(t.startswith("cuda") for t in tw.info()["targets"]), reason="no NVIDIA GPU"
)
on_cpu = pytest.mark.skipif(
    not any(t.startswith("cpu") for t in tw.info()["targets"]), reason="no backend for the CPU"
)


def random_tensors() -> dict[str, np.ndarray]:
    """By the names of the model's file."""
    random = np.random.default_rng(1)
    found = {}

    def add(name: str, *shape: int) -> None:
        scale = shape[-1] ** -0.5 if len(shape) == 2 else 0.2
        found[name] = (random.standard_normal(shape) * scale).astype("float32")

    def dense(name: str, outputs: int, inputs: int) -> None:
        add(f"{name}.weight", outputs, inputs)
        add(f"{name}.bias", outputs)

    def norm(name: str) -> None:
        add(f"{name}.weight", HIDDEN)
        found[f"{name}.weight"] += 1
        add(f"{name}.bias", HIDDEN)

    add("embeddings.word_embeddings.weight", WORDS, HIDDEN)
    add("embeddings.position_embeddings.weight", 64, HIDDEN)
    add("embeddings.token_type_embeddings.weight", 2, HIDDEN)
    norm("embeddings.LayerNorm")
    for i in range(LAYERS):
        at = f"encoder.layer.{i}"
        for part in ("query", "key", "value"):
            dense(f"{at}.attention.self.{part}", HIDDEN, HIDDEN)
        dense(f"{at}.attention.output.dense", HIDDEN, HIDDEN)
        norm(f"{at}.attention.output.LayerNorm")
        dense(f"{at}.intermediate.dense", 4 * HIDDEN, HIDDEN)
        dense(f"{at}.output.dense", HIDDEN, 4 * HIDDEN)
        norm(f"{at}.output.LayerNorm")
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model")
    config = {
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "layer_norm_eps": 1e-12,
    }
    (path / "config.json").write_text(json.dumps(config))
    (path / "tokenizer.json").write_text("{}")
    files.write_bf16(path / "model.safetensors", random_tensors())
    return path


@pytest.fixture(scope="module")
def weights(folder: Path) -> Weights:
    return load_weights(folder)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "fp8"])
@pytest.mark.parametrize(
    "arrays", [pytest.param(OnCpu, marks=on_cpu), pytest.param(OnCuda, marks=on_cuda)]
)
def test_it_agrees_with_the_reference(weights: Weights, arrays: Any, dtype: str) -> None:
    if arrays is OnCuda:
        pytest.importorskip("torch", reason="torch is not installed")
    found = Model(weights, dtype, arrays()).embed(TEXTS)
    wanted = np.stack([exact.embed(weights, ids) for ids in TEXTS])
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-5)
    assert (found * wanted).sum(1).min() >= LEAST_COSINE[dtype]


def test_a_file_holds_the_tensors_rounded_to_bf16(folder: Path) -> None:
    read = files.read(folder / "model.safetensors")
    for name, x in random_tensors().items():
        assert read[name].dtype == np.float32 and read[name].shape == x.shape
        assert np.all(abs(read[name] - x) <= abs(x) * 2**-8)
        np.testing.assert_array_equal(files.from_bf16(files.to_bf16(read[name])), read[name])


def test_what_was_rounded_is_saved_as_it_is(folder: Path, tmp_path: Path) -> None:
    save_rounded(tmp_path / "copy", folder)
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        assert (tmp_path / "copy" / name).read_bytes() == (folder / name).read_bytes()


def test_files_that_are_missing_or_damaged(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"config\.json: can't be read as part of the model"):
        load_weights(tmp_path)
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    content = (folder / "model.safetensors").read_bytes()
    for damaged in (b"", content[:20], content[:-100], b"\xff" * 100):
        (tmp_path / "model.safetensors").write_bytes(damaged)
        with pytest.raises(ModelError, match=r"model\.safetensors: can't be read"):
            load_weights(tmp_path)
    files.write_bf16(tmp_path / "model.safetensors", {"other": np.zeros(3, "float32")})
    with pytest.raises(ModelError, match="there is no tensor embeddings"):
        load_weights(tmp_path)
