"""Going on from a style: from the folder of its training, or from what is shipped of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from capeval.errors import CheckpointError, MissingExtra
from capeval.models.uice import Syntax
from capeval.runtime.checkpoint import CONFIG
from capeval.runtime.uice import SYNTAX, open_trained, style_source
from capeval.train.checkpoint import BEST, load_weights

# How ONNX orders the gates of an LSTM, as places in torch's order (input, forget, cell, output).
_GATES = (0, 2, 3, 1)


def folder_of(style: str) -> Path:
    """The folder of a style that goes by a name, or that of a training."""
    return Path(style) if (Path(style) / BEST).is_file() else open_trained(style_source(style), "uice-syn").folder


def sources_of(folder: Path) -> list[str]:
    """The data sets whose training captions a style has seen."""
    facts = json.loads((folder / CONFIG).read_text("utf-8")).get("facts", {})
    return [each.removeprefix("images:").removesuffix("-train") for each in facts.get("trained_on", ())]


def load_start(model: Syntax, folder: Path) -> None:
    """The weights of a training; where there is only what scoring needs, those of its network, in half precision."""
    if (folder / BEST).is_file():
        load_weights(model, folder / BEST)
        return
    path = folder / SYNTAX
    given = _weights(path)
    wanted = model.state_dict()
    unlike = [name for name, value in wanted.items() if given[name].shape != value.shape]
    if unlike:
        raise CheckpointError(
            f"{path}: a network of other sizes ({unlike[0]} is {list(given[unlike[0]].shape)}, not "
            f"{list(wanted[unlike[0]].shape)}): give the same hidden and vectors as it has"
        )
    model.load_state_dict(given)


def _weights(path: Path) -> dict[str, Tensor]:
    """By the names of `Syntax`."""
    try:
        import onnx
        from onnx import numpy_helper
    except ModuleNotFoundError as error:
        raise MissingExtra("going on from a network in ONNX", "train") from error
    graph = onnx.load(str(path)).graph
    stored = {each.name.removesuffix(".half"): numpy_helper.to_array(each) for each in graph.initializer}
    nodes = {node.op_type: list(node.input) for node in reversed(graph.node)}  # the first of each kind
    try:
        _, by_word, by_state, biases = nodes["LSTM"][:4]
        lstm = {
            name: _in_order(stored[each][0]) for name, each in (("weight_ih_l0", by_word), ("weight_hh_l0", by_state))
        }
        of_words, of_state = np.split(stored[biases][0], 2)
        lstm |= {"bias_ih_l0": _in_order(of_words), "bias_hh_l0": _in_order(of_state)}
        found = {f"lstm.{name}": value for name, value in lstm.items()}
        found |= {
            "words.weight": stored["model.words.weight"],
            "out.weight": stored[nodes["MatMul"][1]].T,
            "out.bias": stored["model.out.bias"],
        }
    except (KeyError, ValueError, IndexError):
        raise CheckpointError(f"{path}: not a network that `capeval train uice-syn` wrote") from None
    return {name: torch.from_numpy(value.astype(np.float32)) for name, value in found.items()}


def _in_order(gates: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    parts = np.split(gates, len(_GATES))
    return np.concatenate([parts[place] for place in _GATES])
