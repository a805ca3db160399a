"""The explorer in a real browser: Debian's chromium, without a window."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from capeval.web.settings import Limits, Settings

from .served import Listening

sync_api = pytest.importorskip("playwright.sync_api", reason="the browser is driven by playwright")
pytest.importorskip("capeval_models", reason="the sample is scored by learned metrics too")
pytest.importorskip("matplotlib", reason="figures need matplotlib")
CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; on Debian: apt install chromium")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
           "--disable-sync", "--disable-dev-shm-usage"]  # fmt: skip
METRICS = "bleu,meteor,wmd,spice_fast,tiger,uice_syn"
_WAIT = 240_000


@pytest.fixture(scope="module")
def served() -> Iterator[Listening]:
    server = Listening(Settings(limits=Limits(), warm=False))
    yield server
    server.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield opened
        opened.close()


class Tab:
    """An open page, with all that the browser complained of."""

    def __init__(self, browser: Any, url: str, **settings: Any) -> None:
        self.said: list[str] = []
        self.page = browser.new_page(**settings)
        self.page.set_default_timeout(_WAIT)
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda problem: self.said.append(str(problem)))
        self.page.goto(url)

    def scores(self, column: str) -> list[float]:
        names = self.page.locator(".captions thead th").all_inner_texts()
        place = [name.strip(" ↑↓") for name in names].index(column)
        cells = self.page.locator(".captions tbody tr:not(.space)").evaluate_all(
            "(rows, place) => rows.map((row) => row.cells[place].textContent)", place
        )
        return [float(cell) for cell in cells]


@pytest.fixture(scope="module")
def sample(served: Listening, browser: Any) -> str:
    """The sample with few metrics, uploaded as a user would; the address of its table."""
    from importlib.resources import files

    demo = files("capeval").joinpath("data", "demo")
    tab = Tab(browser, f"{served.url}/", viewport={"width": 1200, "height": 900})
    page = tab.page
    page.set_input_files("#candidates", str(demo.joinpath("pictures_captions.json")))
    page.set_input_files("#references", str(demo.joinpath("pictures_references.json")))
    pictures = [str(demo.joinpath("pictures", f"{name}.jpg")) for name in ("cat", "coffee", "astronaut", "rocket")]
    page.set_input_files("#images", pictures)
    page.fill("#metrics", METRICS)
    page.get_by_role("button", name="Score", exact=True).click()
    page.wait_for_url(re.compile("/r/"))
    page.get_by_role("link", name="Report").wait_for()  # it is there when the job is done
    assert tab.said == []
    url: str = page.url
    page.close()
    return url


@pytest.fixture
def tab(browser: Any, sample: str) -> Iterator[Tab]:
    opened = Tab(browser, sample, viewport={"width": 1200, "height": 900})
    yield opened
    assert opened.said == []
    opened.page.close()


def test_sort(tab: Tab) -> None:
    tab.page.locator(".captions thead").get_by_role("link", name="meteor").click()
    values = tab.scores("meteor")
    assert len(values) == 12
    assert values == sorted(values, reverse=True)
    tab.page.locator(".captions thead").get_by_role("link", name="meteor").click()
    assert tab.scores("meteor") == sorted(values)
    assert "sort=meteor" in tab.page.url


def show_all(page: Any, what: str) -> None:
    """No filter any more; waits until the page without `what` in its address is there."""
    page.get_by_role("link", name="All", exact=True).click()
    page.wait_for_url(lambda address: what not in address)


def test_filter_by_words_system_score_and_disagreement(tab: Tab) -> None:
    page = tab.page
    page.fill("input[name=words]", "spoon")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("words=spoon"))
    assert page.locator("#count").inner_text() == "3"
    show_all(page, "words=")
    page.select_option("select[name=system]", "scrambled")
    page.wait_for_url(re.compile("system=scrambled"))
    assert page.locator("#count").inner_text() == "4"
    show_all(page, "system=")
    page.fill("input[name=low]", "0.2")
    page.select_option("select[name=score]", "meteor")
    page.wait_for_url(re.compile("score=meteor"))
    assert all(value >= 0.2 for value in tab.scores("meteor"))
    show_all(page, "score=")
    page.select_option("select[name=a]", "wmd")
    page.wait_for_url(re.compile("a=wmd"))
    page.select_option("select[name=b]", "uice_syn")
    page.wait_for_url(re.compile("b=uice_syn"))
    heads = page.locator(".captions thead").inner_text()
    assert "wmd above uice_syn" in heads
    first = page.locator(".captions tbody tr").first.inner_text()
    assert "another picture" in first or "scrambled" in first  # fluent and wrong, or right and in no order


@pytest.fixture(scope="module")
def caption(browser: Any, sample: str) -> Iterator[Tab]:
    opened = Tab(browser, f"{sample}/captions/0", viewport={"width": 1200, "height": 900})
    opened.page.locator("[data-caption][aria-busy=false]").wait_for()
    yield opened
    assert opened.said == []
    opened.page.close()


def test_a_caption_has_its_picture_alignment_graph_flow_and_heat_map(caption: Tab) -> None:
    page = caption.page
    assert page.locator("img.picture").evaluate("(each) => each.naturalWidth") > 100
    for what in ("alignment", "flow"):
        assert page.locator(f"svg.{what} path").count() >= 3
    assert page.get_by_role("img", name="scene graph").count() == 2
    assert page.locator(".map").count() >= 4
    word = page.locator(".map .word").first
    word.hover()
    assert word.locator(".over").evaluate("(each) => getComputedStyle(each).visibility") == "visible"
    assert page.locator("mark.match").count() >= 3
    assert page.locator("[data-explain]").count() == len(METRICS.split(","))


def test_type_another_caption(browser: Any, sample: str) -> None:
    tab = Tab(browser, f"{sample}/captions/0")
    page = tab.page
    page.locator("[data-caption][aria-busy=false]").wait_for()
    page.fill("#typed", "a close up of a brown cat with green eyes")
    page.locator("#scores .up").first.wait_for()
    change = page.locator("#scores tr", has_text="meteor").locator("td").last.inner_text()
    assert float(change.replace("−", "-")) > 0.2
    assert "caption=a+close+up" in page.url
    page.locator("[data-caption][aria-busy=false]").wait_for()
    # The link, opened by somebody else.
    other = Tab(browser, page.url)
    other.page.locator("#scores .up").first.wait_for()
    assert other.page.locator("#typed").input_value() == "a close up of a brown cat with green eyes"
    assert tab.said == other.said == []
    for each in (tab, other):
        each.page.close()


def test_compare(browser: Any, sample: str) -> None:
    tab = Tab(browser, f"{sample}/compare?a=right&b=scrambled&score=bleu_2")
    assert "right" in tab.page.locator(".verdict").inner_text()
    assert tab.page.locator("figure svg").count() >= 1
    assert tab.page.locator("tbody").last.locator("tr").count() == 4
    assert tab.said == []
    tab.page.close()


def test_cancel(browser: Any, served: Listening, tmp_path: Any) -> None:
    rows = [{"image_id": str(i), "caption": f"a man number {i} rides a bike {i % 97}"} for i in range(60_000)]
    candidates, references = tmp_path / "many.json", tmp_path / "references.json"
    candidates.write_text(json.dumps(rows))
    references.write_text(json.dumps({str(i): ["a person is riding a bicycle"] for i in range(60_000)}))
    tab = Tab(browser, f"{served.url}/")
    page = tab.page
    page.set_input_files("#candidates", str(candidates))
    page.set_input_files("#references", str(references))
    page.fill("#metrics", "bleu,rouge_l,wmd,spice_fast,uice_syn")
    page.get_by_role("button", name="Score", exact=True).click()
    page.wait_for_url(re.compile("/r/"))
    url = page.url
    assert page.locator("#count").inner_text() == "60,000"  # rows are there before scores
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_url(re.compile("cancelled=yes"))
    assert "cancelled" in page.get_by_role("status").inner_text()
    assert tab.said == []
    page.goto(url)
    assert "Not here" in page.locator("h1").inner_text()
    page.close()


def test_two_hundred_thousand_rows_scroll(browser: Any, served: Listening, tmp_path: Any) -> None:
    path = tmp_path / "scores.csv"
    lines = (f"{i},{i},a man number {i},{i % 1000 / 1000}" for i in range(200_000))
    path.write_text("id,image,candidate,made_up\n" + "\n".join(lines) + "\n")
    tab = Tab(browser, f"{served.url}/")
    page = tab.page
    page.set_input_files("#result", str(path))
    page.get_by_role("button", name="Open").click()
    page.wait_for_url(re.compile("/r/"))
    assert page.locator("#count").inner_text() == "200,000"
    assert page.locator(".captions tbody tr").count() < 300
    frame = page.locator(".captions")
    frame.evaluate("(each) => { each.scrollTop = each.scrollHeight; }")
    page.get_by_role("link", name="a man number 199999").wait_for()
    frame.evaluate("(each) => { each.scrollTop = each.scrollHeight / 2; }")
    page.get_by_role("link", name=re.compile("a man number 100[0-9]{3}")).first.wait_for()
    assert page.locator(".captions tbody tr").count() < 300
    assert tab.said == []
    page.close()


def test_everything_can_be_reached_by_keyboard(tab: Tab) -> None:
    page, reached = tab.page, set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.name || document.activeElement.textContent.trim()"))
    assert {"words", "system", "score", "low", "high", "a", "b", "Show", "Report", "meteor"} <= {
        each.split("\n")[0] for each in reached
    }


@pytest.mark.parametrize("path", ["", "/captions/0", "/compare"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_narrow_and_dark(browser: Any, sample: str, path: str, scheme: str) -> None:
    tab = Tab(browser, sample + path, viewport={"width": 400, "height": 800}, color_scheme=scheme)
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 400
    color = tab.page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (sum(color[:3]) > 600) == (scheme == "light")
    assert tab.said == []
    tab.page.close()


@pytest.mark.parametrize("path", ["", "/captions/0", "/compare"])
def test_axe_finds_no_serious_fault(browser: Any, sample: str, path: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="faults are looked for by axe")
    tab = Tab(browser, sample + path, viewport={"width": 1200, "height": 900})
    if path == "/captions/0":
        tab.page.locator("[data-caption][aria-busy=false]").wait_for()
    found = axe.Axe().run(tab.page).response["violations"]
    serious = [
        (each["id"], each["nodes"][0]["html"][:120]) for each in found if each["impact"] in ("serious", "critical")
    ]
    assert serious == []
    tab.page.close()


def test_a_score_leads_to_its_explanation_and_back(caption: Tab) -> None:
    page = caption.page
    page.locator("#scores").get_by_role("link", name="spice_fast").click()
    assert page.evaluate("document.querySelector(':target').textContent") == "spice_fast"
    page.locator("section", has=page.locator(":target")).get_by_role("link", name="Back to the scores").click()
    assert page.evaluate("document.querySelector(':target').id") == "scores"


def test_files_are_dropped_on_a_field(browser: Any, served: Listening, tmp_path: Any) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps([{"image_id": "1", "caption": "a cat on a mat", "references": ["a cat on the mat"]}]))
    tab = Tab(browser, f"{served.url}/")
    page = tab.page
    box = page.locator("#candidates").bounding_box()
    where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    session = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, **where, "data": data})
    page.fill("#metrics", "bleu")
    page.get_by_role("button", name="Score", exact=True).click()
    page.wait_for_url(re.compile("/r/"))
    assert "mine.json" in page.locator("h1").inner_text()
    assert tab.said == []
    page.close()


def test_captions_stay_in_sight_beside_far_scores(browser: Any, sample: str) -> None:
    tab = Tab(browser, sample, viewport={"width": 700, "height": 900})
    left = "(each) => each.getBoundingClientRect().left"
    frame, caption = tab.page.locator(".captions"), tab.page.locator(".captions tbody th").first
    before = caption.evaluate(left)
    frame.evaluate("(each) => { each.scrollLeft = each.scrollWidth; }")
    assert frame.evaluate("(each) => each.scrollLeft") > 50
    assert caption.evaluate(left) == before
    tab.page.close()


def test_scores_come_in_while_somebody_reads(browser: Any, served: Listening, tmp_path: Any) -> None:
    """Where the table was scrolled to and what was typed stays, and no page is loaded anew."""
    rows = [{"image_id": str(i), "caption": f"a man number {i} rides a bike {i % 97}"} for i in range(20_000)]
    candidates, references = tmp_path / "many.json", tmp_path / "references.json"
    candidates.write_text(json.dumps(rows))
    references.write_text(json.dumps({str(i): ["a person is riding a bicycle"] for i in range(20_000)}))
    tab = Tab(browser, f"{served.url}/")
    page = tab.page
    page.set_input_files("#candidates", str(candidates))
    page.set_input_files("#references", str(references))
    page.fill("#metrics", "bleu,rouge_l,wmd,spice_fast,meteor")
    page.get_by_role("button", name="Score", exact=True).click()
    page.wait_for_url(re.compile("/r/"))
    page.evaluate("window.isFirst = true")
    page.fill("input[name=words]", "numb")
    frame = page.locator(".captions")
    frame.evaluate("(each) => { each.scrollTop = 44 * 10000; }")
    page.get_by_role("link", name=re.compile("a man number 100[0-9]{2} ")).first.wait_for()
    page.get_by_role("link", name="Report").wait_for()
    page.locator(".captions thead").get_by_role("link", name="meteor").wait_for()
    assert page.evaluate("window.isFirst")
    assert page.locator("input[name=words]").input_value() == "numb"
    assert frame.evaluate("(each) => each.scrollTop") == 44 * 10000
    cells = page.locator(".captions tbody tr:not(.space)")
    names = page.locator(".captions thead th").all_inner_texts()
    page.wait_for_function(
        "(count) => document.querySelector('.captions tbody tr:not(.space)').cells.length === count", arg=len(names)
    )
    assert re.match("a man number (99|100)", cells.first.inner_text())
    assert "meteor" in page.locator("select[name=score]").inner_text()
    assert page.locator(".working").count() == 0
    assert tab.said == []
    page.close()


def test_the_leaderboard_that_the_server_was_given(browser: Any, tmp_path: Any) -> None:
    from capeval.documents import LeaderboardDocument, as_dict
    from capeval.documents.types import BoardCell, BoardColumn, BoardRow
    from capeval.web.opening import read_board

    columns = [
        BoardColumn(name=name, benchmark=name, variant="", statistic="kendall_c", rows=100, resamples=10)
        for name in ("flickr8k-expert", "composite")
    ]
    values = {"cider_d": (0.44, 0.35), "unified": (0.55, 0.57)}
    rows = [
        BoardRow(metric=metric, cells={
            column.name: BoardCell(value=value, low=value - 0.02, high=value + 0.02, rows=100, best=metric == "unified")
            for column, value in zip(columns, found)
        })
        for metric, found in values.items()
    ]  # fmt: skip
    board = LeaderboardDocument(columns=columns, metrics=rows, quoted=[], left_out={})
    path = tmp_path / "board.json"
    path.write_text(json.dumps(as_dict(board)))
    server = Listening(Settings(warm=False), read_board(path))
    try:
        tab = Tab(browser, f"{server.url}/benchmarks", viewport={"width": 1200, "height": 900})
        text = tab.page.locator("main").inner_text()
        assert "0.570" in text
        assert "Human judgements that metrics are held against" in text
        assert tab.page.locator("figure svg").count() >= 1
        assert tab.page.evaluate("document.documentElement.scrollWidth") <= 1200
        tab.page.screenshot(path=str(tmp_path / "board.png"), full_page=True)
        assert tab.said == []
        tab.page.close()
    finally:
        server.close()


@pytest.mark.parametrize("path", ["/", "/benchmarks", "/nothing"])
def test_axe_finds_no_serious_fault_on_other_pages(browser: Any, served: Listening, path: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="faults are looked for by axe")
    tab = Tab(browser, served.url + path, viewport={"width": 400, "height": 800}, color_scheme="dark")
    assert tab.page.evaluate("document.documentElement.scrollWidth") <= 400
    found = axe.Axe().run(tab.page).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
    tab.page.close()
