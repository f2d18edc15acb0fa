"""The kinds of things a run can show; a new one is one entry here and one template."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kindset.report._features import show_features
from kindset.report._images import show_images
from kindset.report._merging import show_merges
from kindset.report._survey import show_survey
from kindset.runs import Run


@dataclass(frozen=True)
class Section:
    """A kind of content.

    Attributes
    ----------
    name : str
        Also the name of its template, ``templates/<name>.html``.
    field : str
        The field of `RunDetails` that it shows.
    what : str
        What it is called where it had to be left out.
    show : callable
        Takes the run and the value of that field. Returns what the template needs, None if there
        is nothing to show.
    """

    name: str
    field: str
    what: str
    show: Callable[[Run, Any], Any]


SECTIONS = (
    Section("survey", "survey", "the survey profiles", show_survey),
    Section("images", "images", "the pictures", show_images),
    Section("merging", "merges", "the merge tree", show_merges),
    Section("features", "features", "the features of the groups", show_features),
)


def show_parts(run: Run) -> tuple[dict[str, Any], list[str]]:
    """Return what a run has to show by section, and sentences on what was left out."""
    parts, notes = {}, []
    for section in SECTIONS:
        details = getattr(run.about, section.field)
        if section.field in run.about.damaged:
            reason = run.about.damaged[section.field]
            notes.append(f"Left out of {run.name}: {section.what}, because {reason}")
        shown = None if details is None else section.show(run, details)
        if shown is not None:
            parts[section.name] = shown
    return parts, notes
