"""Metric expressions."""

from __future__ import annotations

import pytest

from capeval.errors import CapevalError, ExpressionError, UnknownName
from capeval.metrics.bleu import Bleu
from capeval.metrics.cider import Cider, CiderD
from capeval.registry import Selection, label, metric_classes, parse, parse_all


@pytest.mark.parametrize(
    ("expression", "selection"),
    [
        ("bleu", Selection(Bleu(), ("bleu_1", "bleu_2", "bleu_3", "bleu_4"))),
        ("bleu_4", Selection(Bleu(), ("bleu_4",))),
        (" bleu_4 ( sentence = True ) ", Selection(Bleu(sentence=True), ("bleu_4",))),
        ("cider()", Selection(Cider(), ("cider",))),
        ("cider(n=2,df=coco-val2014,)", Selection(Cider(n=2, df="coco-val2014"), ("cider",))),
        ("cider(df=a b/c.df)", Selection(Cider(df="a b/c.df"), ("cider",))),
        ('cider(df="a, (b).df")', Selection(Cider(df="a, (b).df"), ("cider",))),
        ("""cider(df='say "x".df')""", Selection(Cider(df='say "x".df'), ("cider",))),
        ("cider_d(sigma=1e-3)", Selection(CiderD(sigma=0.001), ("cider_d",))),
        ("cider_d(sigma=6)", Selection(CiderD(), ("cider_d",))),
    ],
)
def test_parse(expression: str, selection: Selection) -> None:
    assert parse(expression) == selection


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (CiderD(), "cider_d"),
        (CiderD(n=2, stem=True), "cider_d(n=2, stem=true)"),
        (CiderD(sigma=0.1 + 0.2), "cider_d(sigma=0.30000000000000004)"),
        (CiderD(df="a b.df"), 'cider_d(df="a b.df")'),
        (CiderD(df='a "b".df'), "cider_d(df='a \"b\".df')"),
        (CiderD(df=" a"), 'cider_d(df=" a")'),
    ],
)
def test_label(metric: CiderD, text: str) -> None:
    assert label(metric, "cider_d") == text
    assert parse(text).metric == metric


def test_full_label() -> None:
    assert label(CiderD(n=2), "cider_d", full=True) == "cider_d(n=2, df=corpus, stem=false, sigma=6)"


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("blue", "unknown metric 'blue'. Did you mean bleu"),
        ("cider d", "cannot read the metric expression 'cider d'"),
        ("", "cannot read"),
        ("cider(n=2", "cannot read"),
        ("cider(m=2)", "unknown parameter of cider 'm'. Known: df, n, stem"),
        ("cider(stemm=true)", "Did you mean stem"),
        ("cider(2)", "write them as name=value"),
        ("cider(df=(a))", '"quotes" around a value'),
        ("cider(n=2, n=3)", "gives n twice"),
        ("cider(n=two)", "cider: n is 'two'; it must be a whole number"),
        ("cider(n=2.5)", "must be a whole number"),
        ("cider(n=)", "must be a whole number"),
        ("cider(stem=1)", "it must be true or false"),
        ("cider_d(sigma=wide)", "it must be a number"),
        ("cider_d(sigma=inf)", "it must be finite"),
        ("cider_d(sigma=nan)", "it must be finite"),
    ],
)
def test_bad_expressions(expression: str, message: str) -> None:
    with pytest.raises((UnknownName, ExpressionError)) as caught:
        parse(expression)
    assert message in str(caught.value)


def test_all_bad_expressions_are_reported_together() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_all(["blue", "bleu", "cider(n=0)", "rogue"])
    for part in ("'blue'", "n is 0", "'rogue'"):
        assert part in str(caught.value)
    with pytest.raises(UnknownName):
        parse_all(["bleu", "rogue"])


def test_scores_of_one_metric_are_computed_together() -> None:
    merged = parse_all(["bleu_4", "cider", "bleu_1", "bleu_4", Bleu(sentence=True)])
    assert [selection.names for selection in merged[:2]] == [("bleu_4", "bleu_1"), ("cider",)]
    assert merged[2].metric == Bleu(sentence=True)
    assert len(merged) == 3


def test_a_single_expression_is_not_taken_apart() -> None:
    assert parse_all("bleu_4") == [parse("bleu_4")]
    assert parse_all(Cider()) == [parse("cider")]


def test_metrics_are_found_by_name() -> None:
    assert {"bleu", "rouge", "cider", "cider_d"} <= set(metric_classes())
    assert all(name == metric.info.name for name, metric in metric_classes().items())


def test_two_metrics_of_one_name_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(Bleu):
        info = Bleu.info

    monkeypatch.setattr("capeval.metrics.rouge.Other", Other, raising=False)
    with pytest.raises(CapevalError, match="two metrics are called 'bleu'"):
        metric_classes.__wrapped__()


@pytest.mark.parametrize(
    ("written", "name"),
    [("CIDEr", "cider"), ("CIDEr-D", "cider_d"), ("BLEU-4", "bleu_4"), ("Bleu_4", "bleu_4"), ("ROUGE-L", "rouge_l"),
     ("SPIDEr", "spider"), ("METEOR", "meteor"), ("SPICE-color", "spice_color")],
)  # fmt: skip
def test_names_as_papers_write_them(written: str, name: str) -> None:
    assert parse(written) == parse(name)
    assert parse("CIDEr-D(n=2)") == parse("cider_d(n=2)")


def test_lists() -> None:
    assert parse_all("BLEU-4, CIDEr-D(n=2, df='a, b.df') ,rouge_l") == parse_all(
        ["bleu_4", "cider_d(n=2, df='a, b.df')", "rouge_l"]
    )
    assert parse_all(["bleu_1,bleu_2", "cider"]) == parse_all(["bleu_1", "bleu_2", "cider"])
    with pytest.raises(ExpressionError, match="cannot read the parameters"):
        parse_all("cider(2)")


@pytest.mark.parametrize("name", ["CIDERR", "Ciderr", "ciderr"])
def test_suggestions_ignore_case(name: str) -> None:
    with pytest.raises(UnknownName, match="Did you mean cider"):
        parse(name)
