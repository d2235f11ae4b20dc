"""Embeds sentences with all-MiniLM-L6-v2 on tilewright kernels and finds the nearest ones."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import exact
import numpy as np
from arrays import DEVICES, DeviceError
from model import DTYPES, Model
from weights import ModelError, load_tokenizer, load_weights, save_rounded

SENTENCES = [
    "A cat is sleeping on the warm windowsill.",
    "The kitten naps in the sunshine by the window.",
    "Stock markets fell sharply after the announcement.",
    "Shares dropped when the central bank raised its rates.",
    "She is learning to play the violin.",
    "He practises the cello every evening.",
    "The recipe needs two eggs and a cup of flour.",
    "Beat the eggs, then fold in the flour.",
    "The train to Lyon leaves at noon.",
    "How do I get to the railway station?",
    "Quantum computers manipulate superpositions of states.",
    "Rain is expected over the whole weekend. ☔",
]


class UserError(Exception):
    """A mistake that the caller can mend: its text is all that is printed."""


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__)
    parser.add_argument("--text", metavar="FILE", type=Path, help="texts of your own, one a line")
    parser.add_argument("--dtype", choices=DTYPES, default="f32", help="of weights and activations")
    parser.add_argument("--batch", metavar="N", type=int, default=32, help="texts at a time")
    parser.add_argument(
        "--device", choices=DEVICES, default="cpu", help="where the kernels run; cuda needs torch"
    )
    parser.add_argument(
        "--save", metavar="FILE.npy", type=Path, help="write the embeddings, one row a text"
    )
    parser.add_argument(
        "--weights", metavar="FOLDER", type=Path, help="read weights and tokenizer from there"
    )
    parser.add_argument(
        "--save-weights",
        metavar="FOLDER",
        type=Path,
        help="only write what --weights reads, with all weights rounded to bf16: 45 MB",
    )
    options = parser.parse_args(arguments)
    if options.batch < 1:
        raise UserError(f"--batch is {options.batch}, it must be at least 1")
    return options


def read_texts(path: Path | None) -> list[str]:
    if path is None:
        return SENTENCES
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--text {path}: can't be read: {error}") from error
    if not lines:
        raise UserError(f"--text {path}: the file has no lines")
    return lines


def save(path: Path, embeddings: np.ndarray) -> None:
    try:
        with path.open("wb") as file:
            np.save(file, embeddings)
    except OSError as error:
        raise UserError(f"--save {path}: can't be written: {error}") from error


def embed_all(model: Model, ids: list[list[int]], batch: int) -> np.ndarray:
    return np.concatenate([model.embed(ids[i : i + batch]) for i in range(0, len(ids), batch)])


def print_nearest(texts: list[str], embeddings: np.ndarray, most: int = 12) -> None:
    print("nearest sentences")
    similarity = embeddings @ embeddings.T
    np.fill_diagonal(similarity, -2)
    for i in range(min(len(texts), most) if len(texts) > 1 else 0):
        j = int(similarity[i].argmax())
        print(f"  {similarity[i, j]:6.3f}  {texts[i][:60]!r}  ~  {texts[j][:60]!r}")


def print_agreement(
    model: Model, ids: list[list[int]], embeddings: np.ndarray, most: int = 64
) -> None:
    """Cosine with the float64 model, for the first texts: the reference is slow."""
    count = min(len(ids), most)
    wanted = np.stack([exact.embed(model.weights, i) for i in ids[:count]])
    found = embeddings[:count].astype(np.float64)
    cosines = (wanted * found).sum(1) / np.linalg.norm(found, axis=1)
    print(
        f"agreement with float64 ({count} texts): worst cosine {cosines.min():.7f}, "
        f"mean {cosines.mean():.7f}"
    )


def run(options: argparse.Namespace) -> None:
    if options.save_weights is not None:
        save_rounded(options.save_weights, options.weights)
        return
    texts = read_texts(options.text)
    tokenizer = load_tokenizer(options.weights)
    weights = load_weights(options.weights)
    model = Model(weights, options.dtype, DEVICES[options.device]())
    ids = [tokenizer.encode(text).ids for text in texts]

    embeddings = embed_all(model, ids, options.batch)  # compiles what is not in the cache
    start = time.perf_counter()
    embeddings = embed_all(model, ids, options.batch)
    seconds = time.perf_counter() - start

    print_nearest(texts, embeddings)
    print_agreement(model, ids, embeddings)
    tokens = sum(map(len, ids))
    print(
        f"{len(texts)} texts, {tokens} tokens, {options.dtype} on {options.device}: "
        f"{seconds * 1e3:.1f} ms, {seconds * 1e3 / len(texts):.2f} ms a text"
    )
    print("first call of each kernel (compiles it, or finds it in the disk cache)")
    for name, first in model.first_calls.items():
        print(f"  {name:<24} {first * 1e3:8.1f} ms")
    if options.save is not None:
        save(options.save, embeddings.astype(np.float32))


def main(arguments: list[str]) -> int:
    try:
        run(parse_arguments(arguments))
    except (UserError, ModelError, DeviceError) as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
