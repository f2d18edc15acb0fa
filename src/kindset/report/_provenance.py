"""Where a run came from: what was run, with what, how to run it again."""

import json
import shlex
from dataclasses import dataclass
from typing import Any

from kindset._checked import known_scalars
from kindset.runs import Run


@dataclass(frozen=True)
class Provenance:
    """What a reader needs to make a run again."""

    seed: str
    parameters: dict[str, str]
    timings: dict[str, float]
    measured: dict[str, float]
    versions: dict[str, str]
    command: str | None
    created: str
    data: str | None

    @property
    def seconds(self) -> float | None:
        """Total time; None if no stage was timed."""
        if "total" in self.timings:
            return self.timings["total"]
        return sum(self.timings.values()) if self.timings else None


def read_provenance(run: Run) -> Provenance:
    """Read where a run came from; what is not as it should be is left out."""
    command = run.command
    told = isinstance(command, list) and command and all(isinstance(w, str) for w in command)
    return Provenance(
        seed="" if run.seed is None else str(run.seed),
        parameters=_in_words(run.parameters),
        timings=known_scalars(run.timings),
        measured=known_scalars(run.metrics),
        versions=_in_words(run.versions),
        command=shlex.join(command or []) if told else None,
        created=str(run.created or ""),
        data=_data(run),
    )


def _in_words(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {
        str(name): found if isinstance(found, str) else json.dumps(found, default=str)
        for name, found in value.items()
    }


def _data(run: Run) -> str | None:
    if run.data is None:
        return None
    size = " × ".join(str(n) for n in run.data.shape)
    return f"{size}, {run.data.dtype}, sha256 {str(run.data.sha256)[:16]}…"
