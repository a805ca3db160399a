"""Writes docs/measured/tiger.md and its drawings: the studies of the TIGEr paper (Jiang et al. 2019), redone.

\b
python tools/studies/tiger_report.py --images PHOTOS --work W
python tools/studies/tiger_report.py --images PHOTOS --work W -m 'lece(negatives=rc)' --page mine.md

Tables 1 and 2, figures 4, 5, 7 and 8 (appendix A.1) and the examples of table 3 (A.2), for TIGEr or, with -m, for any
other metric. PHOTOS is laid out as docs/tasks/bench.md says; what lacks its picture is left out, for every metric. All
scores are kept in W, by what decides them: a run that was interrupted goes on, and a new checkpoint is measured anew.

The page names examples by their ids. Their captions, which are research data, are on the page W/examples.html, for
yourself alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import tiger_page as page_of

from capeval.bench import Settings, robust, run
from capeval.cli.progress import Terminal
from capeval.documents import BenchDocument, decode_as
from capeval.documents.types import ChoicesDocument
from capeval.errors import CapevalError
from capeval.report import report
from capeval.run import Run

MEASURED = Path(__file__).resolve().parents[2] / "docs" / "measured"
STUDIED = ("tiger", "tiger_rrs", "tiger_wds")
BESIDE = ("bleu_1", "bleu_4", "rouge_l", "meteor", "cider_d", "spice")
COUNTS = (1, 2, 3, 5, 8, 12, 20, 30, 48)
MORE = ("flickr8k-cf", "thumb", "capeval1k", "sugarcrepe", "valse", "reformulations")
"""Benchmarks that the paper does not have."""
CHANGED = ("pascal-50s", "composite")
# The official parser would have to parse every changed caption and every reference.
QUICK = {"spice": "spice_fast"}
REFERENCES = 5


@dataclass(frozen=True)
class Study:
    """What is measured, and with what."""

    studied: Sequence[str]
    beside: Sequence[str]
    data: str | None
    images: str | None
    features: str | None
    work: Path
    settings: Settings
    run: Run

    def bench(self, name: str, variant: str = "", *, quick: bool = False, **settings: Any) -> BenchDocument:
        found = run(
            name, self._metrics(quick), data=self.data, images=self.images, features=self.features,
            variants=[variant] if variant else (), pictured=True, settings=replace(self.settings, **settings),
            run=replace(self.run, kept=self.work / name),
        )  # fmt: skip
        return decode_as(BenchDocument, found.to_dict())

    def components(self, name: str) -> ChoicesDocument:
        """One caption of each image is changed."""
        found = robust.of_benchmark(name, data=self.data, images=self.images, features=self.features, run=self.run)
        captions = {image: texts[: REFERENCES + 1] for image, texts in found.captions.items()}
        outcome = robust.components(
            captions, self._metrics(quick=True), parser="fast", resamples=self.settings.resamples or 1000,
            features=found.pictures, run=replace(self.run, kept=self.work / f"components-{name}"),
        )  # fmt: skip
        return decode_as(ChoicesDocument, outcome.to_dict())

    def _metrics(self, quick: bool) -> list[str]:
        return [*self.studied, *(QUICK.get(name, name) if quick else name for name in self.beside)]


@click.command(help=__doc__)
@click.option("--images", metavar="ROOT", help="Folder of the pictures.")
@click.option("--features", metavar="FILE", help="Their features, in place of the pictures.")
@click.option("--data", metavar="ROOT", help="Folder of the data sets.")
@click.option("--work", type=click.Path(path_type=Path), required=True, help="Folder for what is computed.")
@click.option("-m", "--metric", "studied", multiple=True, metavar="EXPR", help="What to study, in place of TIGEr.")
@click.option("--beside", multiple=True, metavar="EXPR", default=BESIDE, show_default=True, help="Metrics beside it.")
@click.option("--page", type=click.Path(path_type=Path), default=MEASURED / "tiger.md", help="The page to write.")
@click.option("--resamples", type=click.IntRange(min=1), help="For intervals.")
@click.option("--threads", type=click.IntRange(min=1), default=2, show_default=True)
def main(studied: tuple[str, ...], work: Path, page: Path, resamples: int | None, threads: int, **given: Any) -> None:
    work.mkdir(parents=True, exist_ok=True)
    told = Terminal()
    study = Study(studied or STUDIED, work=work, settings=Settings(resamples), run=Run(threads=threads, progress=told),
                  **given)  # fmt: skip
    first = study.studied[0]
    with _timed("flickr8k-expert"):
        expert = study.bench("flickr8k-expert")
    with _timed("composite"):
        composite = study.bench("composite", "strict")
    with _timed("pascal-50s"):
        votes, labels = study.bench("pascal-50s", "votes", ties="wrong"), study.bench("pascal-50s", "labels")
    with _timed("numbers of references"):
        counted = study.bench("pascal-50s", "votes", quick=True, counts=COUNTS, ties="wrong")
    with _timed("components"):
        changed = {name: study.components(name) for name in CHANGED}
    with _timed("other benchmarks"):
        more = dict(_those_there(study))
    by_references = counted.comparisons[0].by_references
    assert by_references is not None  # counts were asked for
    parts = [
        f"# The studies of the TIGEr paper, with `{first}`",
        "Made by `python tools/studies/tiger_report.py`; its `--help` tells how. In brackets are 95 % intervals from "
        "resamples of images. The figures of the paper (Jiang et al. 2019) stand beside ours. Rows without a picture "
        "are left out for every metric, so that all stand on the same rows.",
        *page_of.agreement_with_grades(expert, composite),
        *page_of.pairs_by_category(votes, labels),
        *page_of.other_benchmarks(more),
        *page_of.score_by_grade(page, expert, composite),
        *page_of.number_of_references(page, counted, by_references, first),
        *page_of.component_sensitivity(page, changed),
        *page_of.errors_by_rank(page, expert, composite),
        *page_of.examples(first, expert, composite),
    ]
    page.write_text("\n\n".join(parts) + "\n", "utf-8")
    report([expert, composite], title="Examples").write(work / "examples.html")
    click.echo(f"{page}\n{work / 'examples.html'} (with captions of research data: not for publication)")
    click.echo(page_of.lost_compared(by_references, first))


@contextmanager
def _timed(name: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    click.echo(f"{name}: {time.perf_counter() - begin:.0f} s", err=True)


def _those_there(study: Study) -> Iterator[tuple[str, BenchDocument]]:
    """Benchmarks whose files and pictures are there."""
    for name in MORE:
        try:
            yield name, study.bench(name)
        except CapevalError as problem:
            click.echo(f"{name} is left out: {problem}", err=True)


if __name__ == "__main__":
    main()
