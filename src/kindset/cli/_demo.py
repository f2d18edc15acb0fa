"""`kindset demo`: the main job on data that ships inside a dependency."""

import json
from pathlib import Path
from typing import Annotated

import typer

from kindset._files import check_output_folder, output_folder, write_text
from kindset._version import __version__
from kindset.cli import _survey
from kindset.cli._options import Debug, Force
from kindset.datasets import load_anes96


def demo(
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="Output folder.")] = Path("demo-output"),
    force: Force = False,
    debug: Debug = False,
) -> None:
    """Cluster a real election survey, choose the number of segments, and describe them."""
    check_output_folder(out, force=force)
    data = load_anes96()
    ids = data.data.index.to_series().add(1).rename("respondent")
    survey = _survey.Survey(data.data, ids, data.questions)
    typer.echo(
        "944 voters of 1996 placed themselves, Clinton and Dole from left to right, and told\n"
        "their party, education and how often they watch TV news. Which kinds are there?\n"
    )
    results = {}
    for method in ("bos", "god"):
        typer.echo(f"{_survey.METHODS[method][1]}, 1 to 8 segments")
        options = _survey.SurveyOptions(method, list(range(1, 9)), n_jobs=-1)
        results[method] = _survey.fit_survey(survey, options)
        if results[method].interrupted:
            break
    best = min(results, key=lambda method: results[method].metrics["icl"])
    with output_folder(out, force=force) as stage:
        for method, result in results.items():
            (stage / method).mkdir()
            _survey.write_survey(result, stage / method)
        note = {"kindset": __version__, "command": ["kindset", "demo"], "best": best}
        write_text(stage / "demo.json", json.dumps(note) + "\n")
    typer.echo("")
    for method, result in results.items():
        typer.echo(
            f"{method.upper()}: {len(result.model.weights_)} segments, "
            f"ICL {result.metrics['icl']:,.0f}{'  <- describes them best' * (method == best)}"
        )
    typer.echo(f"\n{_survey.describe(results[best])}\n")
    typer.echo(f"Figures, tables and models: {out}/")
    if any(result.interrupted for result in results.values()):
        typer.echo("Interrupted: this is what was finished.")
        raise typer.Exit(130)
    typer.echo(f"Start with {out / best / 'profiles.png'} and {out / best / 'summary.txt'}")
