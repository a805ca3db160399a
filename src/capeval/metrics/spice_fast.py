"""SPICE by our own parser: needs no grammar, and reads thousands of captions a second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from capeval.metrics.spice import Spice
from capeval.run import Run
from capeval.scene import COLUMNS, REVISION
from capeval.types import Info


@dataclass(frozen=True)
class SpiceFast(Spice):
    """As `spice`, but captions are parsed by the network that comes with capeval. Close to `spice`, not the same."""

    parser: ClassVar[str] = "fast"
    info: ClassVar[Info] = Info(
        name="spice_fast",
        names=("spice_fast", *(f"spice_fast_{kind}" for kind in COLUMNS)),
        summary="spice with a fast parser of our own: close to the official numbers, offline",
        citation="Anderson et al. 2016, SPICE: Semantic Propositional Image Caption Evaluation (ECCV)",
        on_request=tuple(f"spice_fast_{kind}" for kind in COLUMNS),
        bounds=(0.0, 2.0),
    )

    def signature_extras(self, run: Run) -> dict[str, str]:
        if self.parses:
            return super().signature_extras(run)
        from capeval.scene.fast import fast_parser

        return {"weights": fast_parser().digest, "parser": f"fast {REVISION}"}
