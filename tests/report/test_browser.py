"""The page in a real browser: Debian's chromium, without a window."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import capeval
from capeval.report import report, write_grounding
from capeval.report.inputs import caption_scores
from capeval.runtime.grounding import Grounded, Grounder

pytest.importorskip("matplotlib", reason="drawing needs matplotlib: pip install 'capeval[report]'")
sync_api = pytest.importorskip(
    "playwright.sync_api", reason="the browser is driven by playwright: pip install playwright"
)
image = pytest.importorskip("PIL.Image", reason="screenshots are looked at with Pillow")

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium; on Debian: apt install chromium")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
           "--disable-sync", "--disable-dev-shm-usage"]  # fmt: skip


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield opened
        opened.close()


class Tab:
    """An open page, with all that the browser complained of or asked for."""

    def __init__(self, browser: Any, path: Path, **settings: Any) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page = browser.new_page(**settings)
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda problem: self.said.append(str(problem)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def js(self, code: str) -> Any:
        return self.page.evaluate(code)


@pytest.fixture(scope="module")
def tab(browser: Any, page: Path) -> Iterator[Tab]:
    opened = Tab(browser, page, viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield opened
    opened.page.close()


def colors(png: bytes) -> list[tuple[int, tuple[int, int, int]]]:
    """How often each colour is in a picture, the most frequent first."""
    picture = image.open(io.BytesIO(png)).convert("RGB")
    return sorted(picture.getcolors(1 << 24), reverse=True)


def test_the_browser_has_nothing_to_complain_of(tab: Tab) -> None:
    tab.js("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for place in range(8):
        tab.js(f"window.scrollTo(0, {place} * document.documentElement.scrollHeight / 8)")
    assert tab.said == []


def test_nothing_is_fetched_but_the_page(tab: Tab, page: Path) -> None:
    assert tab.asked == [page.as_uri()]


def test_every_figure_is_told_in_words(tab: Tab) -> None:
    """As the browser hands it to a screen reader."""
    count = tab.js("document.querySelectorAll('figure svg.wide').length")
    named = tab.page.locator("figure").get_by_role("img", name="").all()
    assert count == len(named) >= 15
    texts = tab.js(
        "[...document.querySelectorAll('figure svg.wide')].map((svg) => svg.getAttribute('aria-labelledby').split(' ')"
        ".map((id) => document.getElementById(id).textContent))"
    )
    assert all(len(title) > 5 and len(description) > 30 for title, description in texts)


def test_every_figure_is_drawn(tab: Tab) -> None:
    for number, figure in enumerate(tab.page.locator("figure").all(), 1):
        drawing = figure.locator("svg.wide")
        box = drawing.bounding_box()
        assert box["width"] > 200, number
        assert box["height"] > 80, number
        seen = colors(drawing.screenshot())
        assert len(seen) > 20, f"figure {number} is nearly blank"
        total = sum(count for count, _ in seen)
        assert seen[0][0] < 0.99 * total, f"figure {number} is nearly blank"


def test_texts_stay_inside_their_drawings(tab: Tab) -> None:
    outside = tab.js(
        "[...document.querySelectorAll('figure svg.wide')]"
        ".flatMap((svg) => { const frame = svg.getBoundingClientRect();"
        " return [...svg.querySelectorAll('text')].filter((text) => { const box = text.getBoundingClientRect();"
        " return box.left < frame.left - 2 || box.right > frame.right + 2 || box.top < frame.top - 2 ||"
        " box.bottom > frame.bottom + 2; }).map((text) => text.textContent); })"
    )
    assert outside == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_light_and_dark(browser: Any, page: Path, scheme: str) -> None:
    opened = Tab(browser, page, viewport={"width": 1000, "height": 700}, color_scheme=scheme)
    for part in ("body", "main > section"):
        red, green, blue = opened.js(
            f"getComputedStyle(document.querySelector('{part}')).backgroundColor.match(/\\d+/g).slice(0, 3).map(Number)"
        )
        assert (red + green + blue > 600) == (scheme == "light")
    background = colors(opened.page.locator("figure svg.wide").first.screenshot())[0][1]
    assert (sum(background) > 600) == (scheme == "light")  # drawings change with the page
    assert opened.said == []
    opened.page.close()


def test_print(browser: Any, page: Path) -> None:
    opened = Tab(browser, page, viewport={"width": 1000, "height": 700}, color_scheme="dark")
    opened.page.emulate_media(media="print", color_scheme="dark")
    assert opened.js("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert opened.js("getComputedStyle(document.querySelector('nav')).display") == "none"
    opened.js("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.js("document.querySelectorAll('details:not([open])').length") == 0
    opened.js("window.dispatchEvent(new Event('afterprint'))")
    assert opened.js("document.querySelectorAll('details:not([open])').length") > 0
    printed = opened.page.pdf()
    assert printed.startswith(b"%PDF")
    assert len(printed) > 30_000
    opened.page.close()


@pytest.mark.parametrize("width", [400, 800, 1600])
def test_no_width_makes_the_page_scroll_sideways(browser: Any, page: Path, width: int) -> None:
    opened = Tab(browser, page, viewport={"width": width, "height": 800})
    opened.js("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert opened.js("document.documentElement.scrollWidth") <= width
    inside = opened.js(
        "[...document.querySelectorAll('table')].every((table) => { const frame = table.closest('.scroll');"
        " return frame.getBoundingClientRect().right <= innerWidth && getComputedStyle(frame).overflowX === 'auto'; })"
    )
    assert inside
    opened.page.close()


def test_tables_are_sorted_by_keyboard(tab: Tab) -> None:
    table = tab.page.locator("table.sortable").first
    button = table.locator("thead th button").nth(1)
    column = "(table) => [...table.tBodies[0].rows].map((row) => parseFloat(row.cells[1].dataset.value))"
    button.focus()
    tab.page.keyboard.press("Enter")
    values = table.evaluate(column)
    assert values == sorted(values, reverse=True)
    assert table.locator("thead th").nth(1).get_attribute("aria-sort") == "descending"
    tab.page.keyboard.press("Enter")
    assert table.evaluate(column) == sorted(values)
    names = table.locator("thead th button").first
    names.focus()
    tab.page.keyboard.press("Space")
    texts = table.locator("tbody th").all_text_contents()
    assert texts == sorted(texts)


def test_the_keyboard_reaches_what_scrolls(tab: Tab) -> None:
    tab.page.keyboard.press("Escape")
    first = tab.js("(document.activeElement.blur(), document.querySelector('a').className)")
    assert first == "skip"
    assert tab.js("[...document.querySelectorAll('.scroll')].every((each) => each.tabIndex === 0)")
    assert tab.js("document.querySelectorAll('nav a').length") >= 15


def test_captions_are_inert(tab: Tab) -> None:
    assert tab.js("document.querySelectorAll('script').length") == 1
    assert tab.js("document.querySelectorAll('img').length") == 0
    assert "<script>alert('x')</script>" in tab.js("document.querySelector('main').textContent")


# What the page says, and to whom -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Three systems on nine pictures: right, nearly so, and of other things; and a comparison."""
    folder = tmp_path_factory.mktemp("told")
    (folder / "photos").mkdir()
    texts = ["a red dog runs", "a green cat sits", "two men eat pizza", "a bus on a street", "a blue boat"]
    texts += ["one old tree", "three birds fly", "a woman cooks rice", "the white train stops"]
    references: dict[str, list[str]] = {}
    rows = []
    for place, text in enumerate(texts):
        key = f"p{place}"
        image.new("RGB", (300, 200), (40 * place, 90, 160)).save(folder / "photos" / f"{key}.png")
        references[key] = [text, f"{text} outside"]
        for system, caption in (("right", text), ("near", f"{text} hounds"), ("wrong", "<b>nothing</b> of that")):
            rows.append({"image_id": key, "caption": caption, "system": system})
    result = capeval.score(rows, references, ["bleu_1", "rouge_l"])
    systems = {
        name: {row["image_id"]: row["caption"] for row in rows if row["system"] == name} for name in ("right", "wrong")
    }
    compared = capeval.compare(systems["right"], systems["wrong"], references, ["bleu_1", "rouge_l"], resamples=200)
    document = result.document(result.ranges(resamples=50))
    made = report([document, compared, caption_scores(result)], images=folder / "photos")
    made.write(folder / "report.html")
    return SimpleNamespace(path=folder / "report.html", document=document, compared=compared)


@pytest.fixture(scope="module")
def open_told(browser: Any, told: Any) -> Iterator[Tab]:
    opened = Tab(browser, told.path, viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield opened
    opened.page.close()


def test_the_verdict_is_on_top(open_told: Tab, told: Any) -> None:
    shown = open_told.page.locator("header .verdict p").all_text_contents()
    assert [text.replace("\u00a0", " ") for text in shown][-1] == told.compared.verdict
    assert open_told.js("document.querySelector('.verdict').getBoundingClientRect().bottom") < 400


def test_numbers_of_the_page_are_those_of_the_result(open_told: Tab, told: Any) -> None:
    table = open_told.page.locator("table").first
    assert table.locator("thead th").all_inner_texts()[1].startswith("right")
    for place, key in enumerate(told.document.scores):
        values = table.evaluate(f"(table) => [...table.tBodies[0].rows[{place}].cells].map((c) => c.dataset.value)")
        assert [float(value) for value in values[1:]] == [each.scores[key] for each in told.document.systems.values()]


def test_only_clear_winners_are_bold(open_told: Tab) -> None:
    """`near` has all words of `right`, and is as good by some metrics as far as its interval tells."""
    bold = open_told.page.locator("table").first.locator(".best").count()
    clear = open_told.js(
        "[...document.querySelector('table').tBodies[0].rows].filter((row) => { const ends = [...row.cells].slice(1)"
        ".map((cell) => cell.textContent.match(/[\\d.]+/g).map(Number)); const [best, ...others] = ends.sort((a, b) =>"
        " b[0] - a[0]); return others.every((other) => best[1] > other[2]); }).length"
    )
    assert bold == clear
    winners = open_told.js(
        "[...document.getElementById('comparison').closest('section').querySelector('table').tBodies[0].rows]"
        ".map((row) => [...row.cells].findIndex((cell) => cell.classList.contains('best')))"
    )
    assert winners == [1, 1]  # A, on both metrics


def test_pictures_stand_beside_captions_whose_words_are_marked(open_told: Tab) -> None:
    example = open_told.page.locator(".example.pictured").first
    picture, first = example.locator("img"), example.locator(".spoken").first
    assert picture.evaluate("(img) => img.naturalWidth") == 240
    assert picture.bounding_box()["x"] + picture.bounding_box()["width"] <= first.bounding_box()["x"]
    assert example.locator(".spoken").count() == 3
    tops = [each.bounding_box()["y"] for each in example.locator(".spoken").all()]
    assert max(tops) - min(tops) < 2  # side by side
    assert first.locator("mark.match").count() >= 2
    last = example.locator(".spoken").last
    assert last.locator("mark.miss").first.inner_text() == "<b>nothing</b>"
    colors_ = {
        kind: example.locator(f"mark.{kind}").first.evaluate("(mark) => getComputedStyle(mark).backgroundColor")
        for kind in ("match", "miss")
    }
    assert colors_["match"] != colors_["miss"]


def test_contents_have_distinct_names(tab: Tab, open_told: Tab) -> None:
    for page in (tab, open_told):
        names = page.page.locator("nav a").all_inner_texts()
        assert len(set(names)) == len(names)
        targets = page.js(
            "[...document.querySelectorAll('nav a')].map((a) => document.querySelector(a.hash)?.textContent)"
        )
        assert targets == page.js("[...document.querySelectorAll('nav a')].map((a) => a.textContent)")


def test_the_page_is_short_until_it_is_unfolded(browser: Any, page: Path) -> None:
    opened = Tab(browser, page, viewport={"width": 1280, "height": 900})
    folded = opened.js("document.documentElement.scrollHeight")
    opened.js("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert folded < 0.62 * opened.js("document.documentElement.scrollHeight")
    opened.page.close()


def test_figures_fit_a_phone_and_can_be_read(browser: Any, page: Path) -> None:
    opened = Tab(browser, page, viewport={"width": 400, "height": 800})
    opened.js("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    sizes = opened.js(
        "[...document.querySelectorAll('figure')].map((figure) => { const svg = [...figure.querySelectorAll('svg')]"
        ".filter((each) => each.getBoundingClientRect().width > 0); const box = svg[0].getBoundingClientRect();"
        " const inside = figure.querySelector('.scroll'); return [svg.length, box.left, box.right,"
        " box.width / svg[0].viewBox.baseVal.width, inside.scrollWidth - inside.clientWidth]; })"
    )
    assert len(sizes) >= 15
    for count, left, right, scale, beyond in sizes:
        assert count == 1
        assert left >= 0
        assert right <= 400
        assert scale > 0.93  # letters of 10 to 12 pixels stay so
        assert beyond <= 0
    outside = opened.js(
        "[...document.querySelectorAll('figure svg.narrow')]"
        ".flatMap((svg) => { const frame = svg.getBoundingClientRect();"
        " return [...svg.querySelectorAll('text')].filter((text) => { const box = text.getBoundingClientRect();"
        " return box.left < frame.left - 2 || box.right > frame.right + 2; }).map((text) => text.textContent); })"
    )
    assert outside == []
    opened.page.close()


# The page of `capeval ground` ----------------------------------------------------------------------------------------


@pytest.fixture
def found(beach: Path, small_scan: Path) -> Grounded:
    """On a picture with a red left and a blue right half."""
    picture = image.new("RGB", (120, 80), (200, 30, 30))
    picture.paste((30, 30, 200), (60, 0, 120, 80))
    picture.save(beach / "beach.png")
    grounder = Grounder({"beach": beach / "beach.png"}, checkpoint=str(small_scan), features=beach / "regions.npz")
    return grounder.ground("beach", "<script>alert('x')</script> a dog runs", ["a dog on the beach", "a red ball"])


@pytest.fixture
def ground_tab(browser: Any, found: Grounded, tmp_path: Path) -> Iterator[Tab]:
    write_grounding(found, tmp_path / "ground.html", "capeval ground beach.png '<b>'")
    opened = Tab(browser, tmp_path / "ground.html", viewport={"width": 1280, "height": 900}, color_scheme="light")
    yield opened
    opened.page.close()


def test_ground_nothing_is_complained_of_or_fetched(ground_tab: Tab, tmp_path: Path) -> None:
    assert ground_tab.said == []
    assert [each for each in ground_tab.asked if not each.startswith("data:image/")] == [
        (tmp_path / "ground.html").as_uri()
    ]
    assert ground_tab.js("document.querySelectorAll('main script').length") == 0
    assert "<script>alert('x')</script>" in ground_tab.js("document.querySelector('main').textContent")


def test_ground_the_picture_is_in_its_colours_and_grey_under_the_heat(ground_tab: Tab) -> None:
    plain, heated = (ground_tab.page.locator(".map > svg").nth(number) for number in range(2))
    assert len(colors(plain.screenshot())) > 1
    reds = [color for _, color in colors(plain.screenshot())[:2]]
    assert any(red > 150 > blue for red, _, blue in reds)
    assert any(blue > 150 > red for red, _, blue in reds)
    assert len(colors(heated.screenshot())) > 50


@pytest.mark.parametrize("how", ["pointer", "keyboard"])
def test_ground_the_map_of_a_word_comes_and_goes(ground_tab: Tab, found: Grounded, how: str) -> None:
    word = ground_tab.page.locator(".map").nth(1).locator(".word").nth(found.candidate.words.index("dog"))
    frame = ground_tab.page.locator(".map > svg").nth(1)
    before = frame.screenshot()
    if how == "pointer":
        word.hover()
    else:
        word.focus()
    during = frame.screenshot()
    assert during != before
    assert word.locator(".over").evaluate("(each) => getComputedStyle(each).visibility") == "visible"
    inside, outside = word.locator(".over").bounding_box(), frame.bounding_box()
    assert all(abs(inside[key] - outside[key]) < 1 for key in ("x", "y", "width", "height"))
    if how == "pointer":
        ground_tab.page.mouse.move(0, 0)
    else:
        word.blur()
    assert frame.screenshot() == before


def test_ground_tab_goes_from_word_to_word(ground_tab: Tab, found: Grounded) -> None:
    ground_tab.page.locator(".word").first.focus()
    ground_tab.page.keyboard.press("Tab")
    assert ground_tab.js("document.activeElement.textContent").split(" ")[0] == found.candidate.words[1]


def test_ground_every_map_is_told_in_words(ground_tab: Tab, found: Grounded) -> None:
    names = [each.get_attribute("aria-label") for each in ground_tab.page.get_by_role("img").all()]
    maps = 1 + 1 + len(found.captions)  # the picture, and the mean of the references
    assert len(names) == maps + sum(len(caption.words) for caption in found.captions)
    assert sum("hottest at the" in name for name in names) == len(names) - 1


@pytest.mark.parametrize("width", [320, 800, 1600])
def test_ground_no_width_makes_the_page_scroll_sideways(ground_tab: Tab, width: int) -> None:
    ground_tab.page.set_viewport_size({"width": width, "height": 800})
    assert ground_tab.js("document.documentElement.scrollWidth") <= width
