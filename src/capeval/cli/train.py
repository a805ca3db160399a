"""`capeval train`: the learned models."""

from __future__ import annotations

from pathlib import Path

import click

from capeval.cli.common import options
from capeval.cli.paths import Command, Reads, WritesInto, feature_files, no_files
from capeval.cli.progress import running
from capeval.errors import UnknownName

_CHECKPOINT = WritesInto(
    "config.json", "log.jsonl", "probe.npz", "parser.npz", "match.npz", "fusion.npz", "vocabulary.txt", "*.onnx",
    "*.safetensors",
)  # fmt: skip


@click.command("train", cls=Command)
@click.argument("name", metavar="NAME", required=False)
@options(
    click.option("--out", metavar="DIR", type=_CHECKPOINT, help="Folder of the checkpoint."),
    click.option("--config", metavar="FILE", type=Reads(), help="Config as TOML; --show prints one to begin with."),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a key of the config."),
    click.option("--features", multiple=True, metavar="FILE", type=Reads(feature_files),
                 help="Features of the pictures, made by `capeval features` or brought as .npy, .npz, .h5; "
                 "repeat it for several."),
    click.option("--data", metavar="ROOT", type=Reads(no_files),  # no data set has files named as a checkpoint's are
                 help="Folder of the data sets. Without it: CAPEVAL_DATA, else ../shared."),
    click.option("--input", "extra", multiple=True, metavar="KEY=FILE",
                 type=Reads(lambda text, _: (text.partition("=")[2],)), help="Another file that the model asks for."),
    click.option("--corpus", multiple=True, metavar="FILE", type=Reads(),
                 help="Sentences of people, for a model that learns a style: one a line or running text, plain or "
                 "gzip; repeat it for several."),
    click.option("--resume", is_flag=True, help="Go on with a training that was interrupted, or add epochs to one."),
    click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True,
                 help="Another number gives slightly different weights."),
    click.option("--device", default="auto", show_default=True, help="auto, cpu or cuda."),
    click.option("--show", is_flag=True, help="Print the config with its defaults as TOML, and stop."),
)  # fmt: skip
def train_command(
    name: str | None,
    out: str | None,
    config: str | None,
    settings: tuple[str, ...],
    features: tuple[str, ...],
    data: str | None,
    extra: tuple[str, ...],
    corpus: tuple[str, ...],
    resume: bool,
    threads: int,
    device: str,
    show: bool,
) -> None:
    """Train the model NAME; without NAME, list the models. Needs the extra `train`.

    \b
    capeval train captioner --show > my.toml
    capeval train captioner --config my.toml --set epochs=3 --features coco.features --out my-captioner
    capeval train captioner --config my.toml --set epochs=3 --features coco.features --out my-captioner --resume
    capeval train uice-syn --corpus my-style.txt --out my-style

    The folder holds the config, the log of the epochs (log.jsonl), the weights of the best and of the last epoch, and
    once the training is over the exported model. A training can be stopped at any time, even by force: --resume goes
    on from its last whole epoch and gives the same weights as a training that was not stopped.
    """
    from capeval.train.tasks import config_named, task_named, task_names

    if name is None:
        click.echo("\n".join(task_names()))
        return
    if show:
        from capeval.train.config import show_config

        click.echo(show_config(config_named(name)))
        return
    kind, make = task_named(name)
    from capeval.train.config import read_config
    from capeval.train.loop import train
    from capeval.train.task import Inputs

    if out is None:
        raise click.UsageError("the folder of the checkpoint is needed: --out DIR")
    pairs = [_pair(text) for text in extra]
    files = dict(pairs)
    for key in files:
        if key not in make.extras:
            raise UnknownName(f"--input of {name}", key, make.extras)
    if corpus and not make.takes_corpus:
        raise click.UsageError(f"--corpus: {name} learns from no corpus of sentences")
    if len(files) < len(pairs):
        raise click.UsageError("--input: one file for each key")
    chosen = read_config(kind, config, settings)
    with running(threads=threads) as run:
        sentences = tuple(map(Path, corpus))
        inputs = Inputs(Path(data) if data else None, tuple(map(Path, features)), files, run, sentences)
        run.progress.step("reading what there is to train on")
        task = make(chosen, inputs)
        if task.opening:
            run.progress.note(f"{name}: {task.opening}")
        run.progress.step(f"training {name}")
        train(task, out, resume=resume, device=device, run=run)


def _pair(text: str) -> tuple[str, str]:
    key, equals, file = text.partition("=")
    if not equals:
        raise click.BadParameter(f"KEY=FILE is needed, not {text!r}", param_hint="--input")
    return key, file
