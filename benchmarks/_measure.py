"""Timing and memory, each measurement in a process of its own, and tables in Markdown."""

import gc
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_CLEAR = Path("/proc/self/clear_refs")


@dataclass
class Measurement:
    """What a call returned, what it took, and what the first call took.

    `wall` and `cpu` are seconds of the best later call. `memory` is what the first call added to
    the process at its peak, in MB, with everything it had to load or compile.
    """

    value: Any
    wall: float
    cpu: float
    memory: float
    first_wall: float


def apart(function: Callable[..., Any], *args: Any, repeats: int = 3) -> Measurement:
    """Measure the best of several calls in a fresh process, after one call that may compile."""
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(writer, function, args, repeats))
    process.start()
    writer.close()
    try:
        measurement: Measurement = reader.recv()
    except EOFError:
        raise SystemExit(f"{function.__name__}{args} failed") from None
    process.join()
    return measurement


def _measure(writer: Any, function: Callable[..., Any], args: Sequence[Any], repeats: int) -> None:
    base = _reset_peak()
    before = time.perf_counter()
    function(*args)
    first_wall, memory = time.perf_counter() - before, _peak() - base
    best: Measurement | None = None
    for _ in range(repeats):
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        value = function(*args)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        if best is None or wall < best.wall:
            best = Measurement(value, wall, cpu, memory, first_wall)
    writer.send(best)


def _reset_peak() -> float:
    """Return the resident memory in MB, and let the peak start from there where that works."""
    if _CLEAR.exists():
        _CLEAR.write_text("5")
    return _peak()


def _peak() -> float:
    if _CLEAR.exists():
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a Markdown table."""
    print("| " + " | ".join(header) + " |")
    print("|" + "|".join("---" for _ in header) + "|")
    for row in rows:
        print("| " + " | ".join(_show(cell) for cell in row) + " |")
    print(flush=True)


def _show(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.0f}" if abs(cell) >= 1000 else f"{cell:.3g}"
    return str(cell)


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n### {text}\n", flush=True)


def note(text: str) -> None:
    """Say something on the error stream, out of the way of the tables."""
    print(text, file=sys.stderr, flush=True)
