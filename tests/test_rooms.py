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
LIBRARY = sorted(path for path in PACKAGE.rglob("*.py") if "cli" not in path.parts)

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
    """Return the modules that a file imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
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
    used = {other for path in (PACKAGE / room).rglob("*.py") for other, _ in rooms_of(path)}
    assert used <= MAY_IMPORT[room]


def test_every_room_is_in_the_table():
    assert set(MAY_IMPORT) == ROOMS


def test_no_room_imports_private_modules_of_another():
    private = [
        f"{path.relative_to(PACKAGE)}: {room}.{module}"
        for path in PACKAGE.rglob("*.py")
        if path.parent != PACKAGE
        for room, module in rooms_of(path)
        if module.startswith("_")
    ]
    assert private == []


def test_the_library_names_no_option():
    options = re.compile(r"(?<![\w-])--[a-z][a-z-]+(?![\w:-]*:)")
    named = []
    for path in LIBRARY:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named += [f"{path.name}: {found}" for found in options.findall(node.value)]
    assert named == []


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
