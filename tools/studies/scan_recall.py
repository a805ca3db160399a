"""How often SCAN finds the right picture for a caption, and the right caption for a picture, on Flickr8k's test split.

    python tools/studies/scan_recall.py --features flickr8k.features [--checkpoint scan] [--data ROOT]

Prints a table: recall at 1, 5 and 10 among the 1,000 pictures for each of 5,000 captions, and the other way round.
The networks are those that score (ONNX Runtime); torch only does the attention between all pairs.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from capeval.io.features import open_features
from capeval.models.scan import Scan, ScanShape
from capeval.runtime.scan import open_scan
from capeval.text.tokenize import tokenize
from capeval.train.data import captions
from capeval.train.tasks.scan.task import recalls

_BLOCK = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", required=True, help="features of Flickr8k's pictures, with regions")
    parser.add_argument("--checkpoint", default="scan", help="a name or a folder")
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument("--split", default="test", choices=["val", "test"])
    args = parser.parse_args()
    scan, features = open_scan(args.checkpoint), open_features(args.features)
    found = captions("flickr8k", args.split, args.data)
    images = [image for image in found if image in features]
    mapped = np.concatenate([scan.look(features, images[i : i + _BLOCK]) for i in range(0, len(images), _BLOCK)])
    texts = tokenize([text for image in images for text in found[image]])
    owner = np.repeat(np.arange(len(images)), [len(found[image]) for image in images])
    read = scan.read(texts)
    lengths = np.diff(read.offsets)
    words = np.zeros((len(texts), lengths.max(), scan.width), np.float32)
    for i in range(len(texts)):
        words[i, : lengths[i]] = read.of(i)
    matcher = Scan(ScanShape(5, 1, 1, scan.width, 0, scan.direction, scan.temperature))
    fits = matcher.match_all(torch.from_numpy(mapped), torch.from_numpy(words), torch.from_numpy(lengths)).numpy()
    figures = recalls(fits, owner)
    print(f"{len(images):,} pictures, {len(texts):,} captions, {args.checkpoint} ({scan.checkpoint.digest})\n")
    print("| looked for | R@1 | R@5 | R@10 |\n| --- | --- | --- | --- |")
    for what, name in (("the picture of a caption", "picture"), ("a caption of a picture", "caption")):
        print(f"| {what} | " + " | ".join(f"{figures[f'{name}_at_{k}']:.3f}" for k in (1, 5, 10)) + " |")


if __name__ == "__main__":
    main()
