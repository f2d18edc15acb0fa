"""The architecture, checked by a machine: who may import whom, and who may name options."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kindset

PACKAGE = Path(kindset.__file__).parent
ROOMS = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
CODE = sorted(PACKAGE.rglob("*.py"))
LIBRARY = [path for path in CODE if path.relative_to(PACKAGE).parts[0] != "cli"]

# What `import_module` may be given, perhaps with a class.
NAMED_MODULE = re.compile(r"(kindset(?:\.\w+)+)(?::\w+)?")

MAY_IMPORT = {
    "ordinal": set(),
    "_torch": set(),
    "images": {"_torch"},
    "deep": {"_torch"},
    "unmasking": set(),
    "evaluation": set(),
    "datasets": set(),
    "runs": {"ordinal", "images", "unmasking", "deep"},
    "comparison": {"runs", "evaluation"},
    "workbench": {"datasets", "ordinal", "images", "unmasking", "deep", "runs", "evaluation"},
    "report": {"runs", "comparison", "evaluation"},
    "cli": ROOMS,
}


def imports(path):
    """Return the modules that a file imports, wherever the import stands, or names in a text."""
    found = set()
    here = ["kindset", *path.relative_to(PACKAGE).parts]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            above = here[: -node.level] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            found |= {module, *(f"{module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = NAMED_MODULE.fullmatch(node.value)
            found |= {named[1]} if named else set()
    return found


def rooms_of(path):
    """Return pairs of a room and a module in it, of all imports from other rooms."""
    own = path.relative_to(PACKAGE).parts[0]
    for module in imports(path):
        parts = module.split(".")
        if parts[0] == "kindset" and len(parts) > 1 and parts[1] in ROOMS - {own}:
            yield parts[1], parts[2] if len(parts) > 2 else ""


@pytest.mark.parametrize("room", sorted(MAY_IMPORT))
def test_arrows_never_point_back(room):
    files = list((PACKAGE / room).rglob("*.py"))
    assert files
    used = {other for path in files for other, _ in rooms_of(path)}
    assert used <= MAY_IMPORT[room]


def test_what_all_rooms_share_knows_none_of_them():
    shared = [path for path in PACKAGE.glob("_*.py") if not path.name.startswith("__")]
    assert shared
    assert {room for path in shared for room, _ in rooms_of(path)} == set()


@pytest.mark.parametrize(
    "line",
    [
        "from kindset.runs._run import Run",
        "from kindset.runs import _run",
        "import kindset.runs._run",
        "from ..runs._run import Run",
        "from ..runs import _run",
        "import_module('kindset.runs._run')",
        "def f():\n    from kindset.runs._run import Run",
    ],
)
def test_every_way_to_import_is_seen(monkeypatch, tmp_path, line):
    monkeypatch.setattr(sys.modules[__name__], "PACKAGE", tmp_path)
    (tmp_path / "report").mkdir()
    path = tmp_path / "report" / "_page.py"
    path.write_text(line)
    assert ("runs", "_run") in set(rooms_of(path))


def test_every_room_is_in_the_table():
    assert set(MAY_IMPORT) == ROOMS


def test_no_room_imports_private_modules_of_another():
    private = [
        f"{path.relative_to(PACKAGE)}: {room}.{module}"
        for path in CODE
        for room, module in rooms_of(path)
        if module.startswith("_")
    ]
    assert private == []


# Not the variables of a style sheet, `--ink: black` and `var(--ink)`.
OPTION = re.compile(r"(?<![\w-])(?<!var\()(?:--(?:[a-z][a-z-]+|(?<= --)$)|-[kop](?= ))(?![\w:-]*:)")


def texts(path):
    """Return the texts of a module with their documentation, or the whole of another file."""
    if path.suffix != ".py":
        return [path.read_text()]
    constants = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Constant)]
    return [node.value for node in constants if isinstance(node.value, str)]


def test_the_library_names_no_option():
    pages = sorted((PACKAGE / "report" / "templates").glob("*.html"))
    assert pages
    named = [
        f"{path.name}: {found}"
        for path in [*LIBRARY, *pages]
        for text in texts(path)
        for found in OPTION.findall(text)
    ]
    assert named == []


@pytest.mark.parametrize("text", ["another --out.", "with -k 4", "(see --same-rows)", "use --"])
def test_every_option_is_seen(text):
    assert OPTION.search(text)


def test_the_command_line_is_only_a_front_door():
    lines = sum(len(path.read_text().splitlines()) for path in (PACKAGE / "cli").glob("*.py"))
    assert lines < 1500


def test_help_imports_no_scientific_package():
    code = (
        "import sys; sys.argv = ['kindset', '--help']\n"
        "from kindset.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'torch', 'numba', 'matplotlib'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr.strip() == "[]"
    assert "cluster" in ended.stdout


def test_every_command_is_found_and_described_alike():
    from importlib import import_module

    from kindset.cli._app import COMMANDS

    for name, line in COMMANDS.items():
        command = getattr(import_module(f"kindset.cli._{name}"), name)
        assert command.__doc__.splitlines()[0] == line
