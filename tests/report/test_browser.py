"""The page in a real browser, from disk, with the network cut off.

Screenshots are kept in `.artifacts/`, to be looked at.
"""

import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright
from report_runs import aligned_run, image_run

from kindset.report import write_report

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
ARTIFACTS = Path(__file__).parents[2] / ".artifacts"

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="needs Chromium on the path; `make browser` installs it"
)


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def visit(browser, demo_report):
    """Open the report; at the end, complain of anything the page complained of or asked for."""
    complaints, contexts = [], []

    def open_page(width=1280, height=900, **options):
        context = browser.new_context(
            viewport={"width": width, "height": height}, offline=True, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append("a dialog opened"))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith(("file:", "data:"))
                else complaints.append(request.url)
            ),
        )
        page.goto(demo_report.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def keep(page, name):
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / f"report-{name}.png", full_page=True)


def test_screens(visit):
    for name, width, scheme in (("wide", 1280, "light"), ("narrow", 390, "dark")):
        keep(visit(width, color_scheme=scheme), name)


@pytest.mark.parametrize("width", [360, 768])
def test_the_page_never_scrolls_sideways(visit, width):
    page = visit(width)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_scrolls_sideways_shows_it(visit):
    page = visit(390)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    names = ("Ranking by the verdict", "Ranking by the mean rank")
    tables = [page.locator(f"[aria-label='{name}']").nth(1) for name in names]
    for box in (page.locator("nav"), *tables):
        box.scroll_into_view_if_needed()
        expect(box).to_have_class(re.compile("more-after"))
        expect(box).not_to_have_class(re.compile("more-before"))
        assert "inset" in box.evaluate("(e) => getComputedStyle(e).boxShadow")
        box.evaluate("(e) => e.scrollTo(e.scrollWidth, 0)")
        expect(box).to_have_class(re.compile("more-before"))
        expect(box).not_to_have_class(re.compile("more-after"))
    wide = visit(1280)
    expect(wide.locator("nav")).not_to_have_class(re.compile("more"))


def column(page, table, number):
    return page.locator(f"{table} tbody tr > :nth-child({number})").all_inner_texts()


def test_tables_are_sorted_by_a_click(visit):
    page = visit()
    table = "[aria-label='Ranking by the verdict'] >> nth=1 >> table"
    heading = page.locator(f"{table} >> th >> nth=3")
    ranks = column(page, table, 4)
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert column(page, table, 4) == sorted(ranks, key=float)
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert column(page, table, 4) == sorted(ranks, key=float, reverse=True)
    page.locator(f"{table} >> th >> nth=1").get_by_role("button").click()
    assert heading.get_attribute("aria-sort") is None
    names = column(page, table, 2)
    assert [name.split()[1] for name in names[:-1]] == ["k=8"] * 4 + ["k=10"] * 4
    assert names[-1] == "unmasking"


def test_an_image_opens_with_the_prototypes_aligned_to_it(visit):
    page = visit()
    viewer = page.locator("#viewer")
    aligned = page.locator("main section", has_text="Choose an image to see every prototype")
    first = aligned.locator("button.tile").first
    first.click()
    assert viewer.is_visible()
    n_clusters = len(aligned_run().exhibits["prototypes"])
    assert page.locator("#viewer-prototypes li").count() == n_clusters > 1
    winner = page.locator("#viewer-prototypes li.winner")
    assert winner.count() == 1
    assert winner.inner_text().startswith("Cluster 1 ✓")
    distances = page.locator("#viewer-prototypes li > :nth-child(3)").all_inner_texts()
    assert min(distances, key=float) == distances[0]
    assert "Every prototype, aligned" in page.locator("#viewer-note").inner_text()
    ARTIFACTS.mkdir(exist_ok=True)
    page.screenshot(path=ARTIFACTS / "report-viewer.png")
    page.locator("#viewer-close").click()
    assert not viewer.is_visible()

    first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert viewer.is_visible()
    page.keyboard.press("Escape")
    assert not viewer.is_visible()
    # The keyboard is back where it was.
    assert page.evaluate("document.activeElement.dataset.sample") == "1"


def test_an_energy_is_called_one(visit, tmp_path):
    write_report([replace(image_run(3, 0, 5), method="dti-gmm")], tmp_path / "energy.html")
    page = visit()
    page.goto((tmp_path / "energy.html").as_uri())
    page.locator("main button.tile").first.click()
    assert "with its energy (lower is nearer)" in page.locator("#viewer-note").inner_text()
    hints = page.locator("#viewer-prototypes li > :nth-child(3)")
    assert "distance" not in hints.first.get_attribute("title")


def test_light_and_dark(visit):
    page = visit(color_scheme="light")

    def brightness():
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.strip("rgb()").split(","))

    button = page.locator("#theme")
    assert button.inner_text() == "Dark"
    light = brightness()
    button.click()
    assert button.inner_text() == "Light"
    assert brightness() < light / 3
    page.reload()
    assert brightness() < light / 3
    page.locator("#theme").press("Enter")
    assert brightness() == light


def test_folded_runs_open_by_keyboard(visit):
    page = visit()
    folded = page.locator("details.run").first
    inside = folded.locator("article").first
    assert not inside.is_visible()
    folded.locator("> summary").press("Enter")
    assert inside.is_visible()


def test_long_parts_start_folded_on_a_phone(visit):
    wide, narrow = visit(1280), visit(390, 844)
    folds = "document.querySelectorAll('details.fold{}').length"
    n = wide.evaluate(folds.format(""))
    assert n > 3
    assert wide.evaluate(folds.format("[open]")) == n
    assert narrow.evaluate(folds.format("[open]")) == 0
    part = narrow.locator("details.fold", has_text="What each segment answers").first
    assert not part.locator("figure").first.is_visible()
    part.locator("> summary").press("Enter")
    assert part.locator("figure").first.is_visible()
    narrow.emulate_media(media="print")
    assert narrow.locator("[aria-label='Typical respondents']").first.is_visible()


def test_the_graph_can_be_read_on_a_phone(visit):
    wide, narrow = visit(1280), visit(390, 844)
    for page in (wide, narrow):
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    names, numbers, listed = ".graph .name", ".graph .ordinal", "ol.spaces"
    assert wide.locator(names).first.is_visible()
    assert not wide.locator(f"{numbers}, {listed}").first.is_visible()
    assert not narrow.locator(names).first.is_visible()
    assert narrow.locator(listed).first.is_visible()
    n_spaces = narrow.locator(f"{listed} >> nth=0 >> li").count()
    assert narrow.locator(".graph").first.locator(".ordinal").count() == n_spaces
    for text in (f"{numbers} >> nth=0", "svg.wide text >> nth=0"):
        assert narrow.locator(text).bounding_box()["height"] >= 13


def test_names_beside_the_scores_are_whole(visit):
    page = visit(1280)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    charts = page.locator("svg[aria-label^='Scores of ']").all()
    assert charts
    for chart in charts:
        left, names = chart.bounding_box()["x"], chart.locator("text.end").all()
        assert names
        for name in names:
            box = name.bounding_box()
            assert box["width"] > 0
            assert box["x"] >= left


@pytest.mark.parametrize("width", [390, 1280])
def test_the_contents_stay_in_reach(visit, width):
    page = visit(width, 844, reduced_motion="reduce")
    last = page.locator("nav a").last
    last.press("Enter")
    heading = page.locator("#provenance-title").bounding_box()
    contents = page.locator("nav").bounding_box()
    assert abs(contents["y"]) < 1
    assert contents["height"] < 60
    assert contents["y"] + contents["height"] <= heading["y"] < 844


def test_the_keyboard_skips_to_the_content(visit):
    page = visit()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_everything_has_a_name(visit):
    page = visit()
    nameless = page.evaluate(
        """[...document.querySelectorAll("button, a, svg, [role=img], [role=region]")]
        .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim()))
        .map((e) => e.outerHTML.slice(0, 120))"""
    )
    assert nameless == []
    levels = page.evaluate(
        "[...document.querySelectorAll('main h2, main h3, main h4')].map((h) => +h.tagName[1])"
    )
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.locator("main").count() == page.locator("header").count() == 1


def test_paper(visit):
    page = visit()
    ARTIFACTS.mkdir(exist_ok=True)
    pdf = page.pdf(path=ARTIFACTS / "report.pdf", format="A4", print_background=True)
    assert len(pdf) > 100_000
    page.emulate_media(media="print")
    folded = page.locator("details.run article").first
    assert folded.is_visible()
    assert not page.locator("#theme").is_visible()
