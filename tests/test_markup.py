"""What notebooks show."""

from __future__ import annotations

import re

import capeval
from capeval import markup
from capeval.types import Word


def test_words_are_escaped_and_marked() -> None:
    shown = markup.words([Word("<b>", "match", 0.5, 'say "x"'), Word("&"), Word("dog", "miss", -0.25)])
    assert '<mark class="match" title="say &quot;x&quot;" style="--strength: 1.00">&lt;b&gt;</mark> &amp;' in shown
    assert '<mark class="miss" style="--strength: 0.50">dog</mark>' in shown


def test_a_result_shows_scores_and_marked_captions() -> None:
    result = capeval.score(["a cat <i>", "a dog runs"], [["a cat sleeps"], ["the hound sits"]], ["bleu_1", "rouge_l"])
    assert repr(result).split("\n")[0] == "2 captions"
    assert f"rouge_l  {result.scores['rouge_l']:.4f}" in repr(result)
    page = result._repr_html_()
    assert f'<td>bleu_1</td><td class="number">{result.scores["bleu_1"]:.4f}</td>' in page
    assert '<mark class="match">cat</mark> <mark class="miss">&lt;i&gt;</mark>' in page
    assert '<mark class="near" title="references: hound">dog</mark>' in page
    assert f'<td class="number">{result.per_caption["rouge_l"][1]:.4f}</td></tr></tbody>' in page


def test_systems_stand_side_by_side() -> None:
    rows = [{"image_id": 1, "caption": "a cat", "system": name} for name in ("ours", "theirs")]
    result = capeval.score(rows, {"1": ["a cat"]}, ["rouge_l"])
    assert re.search(r"metric +ours +theirs", repr(result))
    assert "<th class=number>theirs</th>" in result._repr_html_()


def test_a_result_from_a_file_shows_captions_without_marks(tmp_path: object) -> None:
    result = capeval.score(["a cat"], [["a cat"]], ["rouge_l"])
    path = f"{tmp_path}/kept.npz"
    capeval.save(result, path)
    loaded = capeval.load(path)
    assert loaded.references is None
    assert "<mark" not in loaded._repr_html_()
    assert capeval.join([loaded]).references is None
    assert result.rows([0]).references == [("a cat",)]


def test_a_comparison_ends_in_its_verdict() -> None:
    texts = [f"a dog number {i}" for i in range(8)]
    found = capeval.compare(texts, ["nothing"] * 8, [[text] for text in texts], ["rouge_l"], resamples=200)
    assert repr(found).endswith(").")
    assert "A is better than B on rouge_l" in found.verdict
    assert "A is better than B on rouge_l" in found._repr_html_()


def test_explanations() -> None:
    found = capeval.explain("rouge_l", "a man rides", ["a man walks", "the <man> rides"])
    page = found._repr_html_()
    assert '<mark class="match">rides</mark>' in page
    assert "&lt;man&gt;" not in page or "<man>" not in page
    assert "candidate: [a] [man] rides" in repr(found)
    assert (
        found.scores["rouge_l"]
        == capeval.score(["a man rides"], [["a man walks", "the <man> rides"]], ["rouge_l"]).scores["rouge_l"]
    )
