"""The page as a file: escaped, small, the same every time."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_runs import feature_run, image_run, merging_run, survey_run

from kindset.exceptions import InputError
from kindset.report import write_report
from kindset.report._page import render
from kindset.report._summary import Ranking, summarise
from kindset.runs import Run

EVIL = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """Everything on a page: tags with their attributes, and the text between them."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.words, self.errors = [], [], []
        self._open = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br"):
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if not self._open or self._open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


def deep(value, change):
    """Change every text in a nested structure."""
    if isinstance(value, dict):
        return {key: deep(inner, change) for key, inner in value.items()}
    if isinstance(value, list):
        return [deep(inner, change) for inner in value]
    return change(value) if isinstance(value, str) else value


def poisoned(run, evil=EVIL):
    kind = run.details.get("kind")
    details = deep(run.details, lambda _: evil)
    details["kind"] = kind
    return replace(
        run,
        name=evil,
        method=evil,
        parameters={evil: evil},
        command=[evil],
        versions={evil: evil},
        created=evil,
        timings={evil: 1.0},
        metrics={evil: 1.0, **run.metrics},
        details=details,
    )


def test_whatever_a_run_says_is_text():
    named = image_run()
    names = [f"{i}.png" for i in range(len(named.exhibits["samples"]))]
    details = {**named.details, "images": {**named.details["images"], "names": names}}
    runs = [survey_run(), replace(named, details=details), image_run(8), merging_run(),
            feature_run()]  # fmt: skip
    html = render(summarise([poisoned(run) for run in runs], Ranking()), title=EVIL)
    page = Page(html)
    kinds = {tag for tag, _ in page.tags}
    assert "img" not in kinds
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert [s for s in scripts if s.get("type") != "application/json"] == [{}]
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert page.text.count(EVIL) > 30
    assert "\x00" not in html


@given(name=st.text(max_size=20))
def test_any_name_shows_as_it_is(name):
    html = render(summarise([poisoned(feature_run(), name), Run([0, 1])], Ranking()), title="t")
    page = Page(html)
    html.encode()
    shown = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]", "\ufffd", name)
    if shown.strip():
        assert shown.strip().replace("\r", "\n") in page.text.replace("\r", "\n")


def test_what_no_file_can_hold_is_replaced(tmp_path):
    evil = "half \ud800 and nothing \x00"
    write_report([poisoned(run, evil) for run in (image_run(), merging_run())], tmp_path / "r.html")
    assert "half \ufffd and nothing \ufffd" in (tmp_path / "r.html").read_text()


def test_the_samples_survive_their_json_block():
    run = image_run()
    names = [EVIL] * len(run.exhibits["samples"])
    details = {**run.details, "images": {**run.details["images"], "names": names}}
    html = render(summarise([replace(run, details=details)], Ranking()))
    (block,) = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.S)
    told = json.loads(block)
    assert told["samples"][0]["name"] == EVIL
    assert len(told["samples"]) == 120
    assert told["k"] == 10


def test_the_file_needs_nothing_else(demo_report):
    html = demo_report.read_text()
    assert re.search(r"default-src 'none'", html)
    assert not re.search(r"(?:src|href)=\"(?!#|data:)", html)
    assert "http" not in html.replace("http-equiv", "")
    assert "@import" not in html
    ids = re.findall(r'\bid="([^"]*)"', html)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]*)"', html)) <= set(ids)


def test_a_report_like_the_demo_is_small(demo_report):
    assert 100_000 < demo_report.stat().st_size < 2_000_000


def test_the_same_runs_give_the_same_file(demo_runs, demo_report, tmp_path):
    again = tmp_path / "again.html"
    write_report(demo_runs, again, title="A <b>demo</b> & more")
    assert again.read_bytes() == demo_report.read_bytes()


def test_saved_runs_give_the_same_page(tmp_path):
    runs = [survey_run(), image_run(), merging_run(), feature_run()]
    for i, run in enumerate(runs):
        run.save(tmp_path / str(i))
    loaded = [Run.load(tmp_path / str(i)) for i in range(len(runs))]
    assert render(summarise(runs, Ranking())) == render(summarise(loaded, Ranking()))


def test_everything_is_on_the_page(demo_report):
    text = Page(demo_report.read_text()).text
    for words in (
        "A <b>demo</b> & more", "Election survey, 1996", "Segment 3", "Most uncertain respondents",
        "How many segments?", "Cluster 10", "Borderline", "Merge tree.", "Unmasking curves.",
        "Which run to trust", "Loss over training", "Which spaces agree.",
        "Every run in every space.",
        "The spaces themselves", "Beside the known labels.", "took no part in the ranking",
        "feature 2", "kindset cluster 'anes96 survey.csv' --method god -k 3", "numpy 2.4.6",
        "below 20 the choice of spaces is fragile",
    ):  # fmt: skip
        assert words in text, words


def test_cards_say_what_the_answers_are_about():
    html = render(summarise([survey_run("god", 3)], Ranking()))
    for headline in re.findall(r'<p class="headline">(.*?)</p>', html):
        text = Page(headline).text
        assert len(re.findall(r"\w+\W+\([^)]+\)", text)) == 2, text
    assert "Strong Republican <small>(With which party do you identify?)</small>" in html


def test_long_questions_are_cut_apart_in_headlines():
    run = survey_run("god", 3)
    details = deep(run.details, lambda text: text)
    for j, question in enumerate(details["survey"]["questions"]):
        question["text"] = f"How satisfied are you with {'the service of ' * 5}line {j}?"
    html = render(summarise([replace(run, details=details)], Ranking()))
    shown = set(re.findall(r"<small>\((How .*?)\)</small>", html))
    assert len({words[-7:] for words in shown}) == len(shown) > 1
    assert all(len(words) == 56 for words in shown)


def test_no_caution_is_dropped():
    notes = [f"caution <{i}>" for i in range(12)]
    run = replace(feature_run(), details={"notes": notes})
    text = Page(render(summarise([run], Ranking()))).text
    assert "4 more" in text
    assert all(note in text for note in notes)


@pytest.mark.parametrize(
    ("spaces", "n_bootstrap", "shown"), [(1, 0, False), (1, 5, True), (2, 0, True)]
)
def test_one_space_alone_tells_no_range_of_ranks(spaces, n_bootstrap, shown):
    runs = [image_run(10, 0), image_run(8, 0, 10 if spaces == 2 else 20)]
    ranking = Ranking(["silhouette"], n_bootstrap=n_bootstrap)
    text = Page(render(summarise(runs, ranking))).text
    assert ("Wins" in text) is ("Range of ranks" in text) is shown


def test_several_indices(tmp_path):
    path = tmp_path / "r.html"
    runs = [image_run(10, 0), image_run(8, 0), image_run(10, 1, 10)]
    write_report(runs, path, indices=["davies_bouldin", "dunn"], n_bootstrap=3)
    text = Page(path.read_text()).text
    assert "Ranking by Davies-Bouldin (sign turned: larger is better)" in text
    assert "Ranking by the mean rank" in text
    assert "By Dunn alone" in text
    assert "Dunn is not a sum over points" in text
    write_report(runs, path, indices=["davies_bouldin"], n_bootstrap=3)
    text = Page(path.read_text()).text
    assert "Ranking by the mean rank" not in text


def test_runs_may_know_different_measures():
    runs = [replace(image_run(k, 0), metrics={"NMI": 0.1 * k}) for k in (8, 9, 10, 11)]
    runs[1] = replace(runs[1], metrics={"ARI": 0.5})
    runs[2] = replace(runs[2], metrics={})
    html = render(summarise(runs, Ranking()))
    assert "NMI, ARI: agreement with known labels" in html


def test_wrong_arguments(tmp_path):
    run = feature_run()
    path = tmp_path / "r.html"
    with pytest.raises(InputError, match="at least one run"):
        write_report([], path)
    with pytest.raises(InputError, match="index='gap' is unknown"):
        write_report([run], path, indices="gap")
    with pytest.raises(InputError, match="must name one or more"):
        write_report([run], path, indices=())
    with pytest.raises(InputError, match="there is no folder"):
        write_report([run], tmp_path / "none" / "r.html")
    with pytest.raises(InputError, match="n_bootstrap"):
        write_report([run], path, n_bootstrap=-1)
    with pytest.raises(InputError, match="truth"):
        write_report([run], path, truth=np.zeros((2, 2)))
    assert list(tmp_path.iterdir()) == []
