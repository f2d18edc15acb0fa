"""The kinds of things a run can show; a new one is one entry here and one template."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kindset.exceptions import InputError
from kindset.report._features import read_features
from kindset.report._images import read_images
from kindset.report._merging import read_merging
from kindset.report._survey import read_survey
from kindset.runs import Run


@dataclass(frozen=True)
class Section:
    """A kind of content.

    Attributes
    ----------
    name : str
        Also the name of its template, ``templates/<name>.html``.
    what : str
        What it is called where it had to be left out.
    read : callable
        Returns what there is to show of a run, None if there is nothing; raises `InputError` if
        that is damaged.
    """

    name: str
    what: str
    read: Callable[[Run], Any]


SECTIONS = (
    Section("survey", "the survey profiles", read_survey),
    Section("images", "the pictures", read_images),
    Section("merging", "the merge tree", read_merging),
    Section("features", "the features of the groups", read_features),
)


def read_parts(run: Run) -> tuple[dict[str, Any], list[str]]:
    """Return what a run has to show by section, and sentences on what was left out."""
    parts, notes = {}, []
    for section in SECTIONS:
        try:
            found = section.read(run)
        except InputError as error:
            notes.append(f"Left out of {run.name}: {section.what}, because {error}")
            continue
        if found is not None:
            parts[section.name] = found
    return parts, notes
