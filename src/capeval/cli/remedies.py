"""What helps against an error, in the words of the command line: the library does not know its options."""

from __future__ import annotations

from capeval.errors import CapevalError, with_advice

# By the keys of `capeval.errors.REMEDIES`.
OPTIONS = {
    "references": "Give them with -r",
    "columns": "Name the columns with --id, --caption and --references",
    "id_column": "Name the one to use with --id",
    "caption_column": "Name the one to use with --caption",
    "reference_columns": "Name those to use with --references",
    "split": "Name others with --split",
    "several": "With --several each is scored",
    "row_references": "Name their column with --references, or give a file that has them by image",
    "pictures": "Give a folder of pictures with --images, or their features with --features",
    "picture": "Give it with --image",
    "own_features": "Give them with --features",
    "skip_pictures": "With --on-error skip such pictures are left out",
    "skip_rows": "With --on-error skip such rows are written without scores",
    "saved_result": "`capeval score --save` writes results to be joined",
    "score_ids": "`capeval bench rows NAME`, or `capeval robust` with --write, shows the ids",
    "scores_alone": "Files with scores alone are given with --scores",
    "caption_scores": "`capeval score --per-caption` writes such a file. For a benchmark use `bench run --scores`",
    "result": "--json keeps it, and --format json prints it",
    "human": "Name it with --human",
    "combine": "Ask for it with --combine",
    "seen": "With --allow-seen it is shown, and marked",
    "unfinished_training": "Go on with: capeval train NAME --out FOLDER --resume",
    "training_features": "Name their features with --features; `capeval features` makes them",
    "training_data": "Name the folder that has it with --data",
    "training_there": "Go on with --resume, or name another folder",
    "training_corpus": "Name its files with --corpus",
    "training_inputs": "Such files are named with --input KEY=FILE",
}


def in_words(problem: CapevalError) -> str:
    return with_advice(problem.message, OPTIONS[problem.remedy]) if problem.remedy else str(problem)
