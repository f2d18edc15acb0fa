import subprocess
import sys

import kindset


def test_public_names_resolve():
    for name in kindset.__all__:
        assert getattr(kindset, name) is not None


def test_import_is_light():
    """`import kindset` brings in neither torch nor the compilers."""
    code = (
        "import sys, kindset; "
        "print(*(m for m in ('torch', 'numba', 'sklearn', 'matplotlib') if m in sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == ""
