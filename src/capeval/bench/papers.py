"""Papers whose tables a benchmark, run as they ran it, can be compared with."""

from __future__ import annotations

SPICE = "SPICE (Anderson et al. 2016)"
NNEVAL = "NNEval (Sharif et al. 2018)"
TIGER = "TIGEr (Jiang et al. 2019)"
CLIPSCORE = "CLIPScore (Hessel et al. 2021)"
PAC_S = "PAC-S (Sarto et al. 2023)"
POLOS = "Polos (Wada et al. 2024)"
THUMB = "THumB (Kasai et al. 2022)"

SINCE_CLIPSCORE = (CLIPSCORE, PAC_S, POLOS)
"""They share their protocols."""
