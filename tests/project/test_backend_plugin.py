"""The example of a backend in a package of its own: its wheel is found, proven and shown, or refused with a reason."""

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "backend_plugin"
# what the contract is, and what proves that it is kept
CONTRACT = {"tensorframe", "tensorframe.backends", "tensorframe.testing.conformance"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of the example, built from a copy."""
    folder = tmp_path_factory.mktemp("plugin")
    shutil.copytree(EXAMPLE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    subprocess.run([*command, folder], cwd=folder / "source", check=True, capture_output=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture
def installed(wheel, tmp_path):
    """A folder on the path with what is in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    return tmp_path


def run(folder, *arguments):
    """Run Python in a process that finds the package; return what it prints."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, [ROOT, folder]))}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_imports_nothing_but_the_contract():
    sources = [path.read_text(encoding="utf-8") for path in EXAMPLE.rglob("*.py")]
    imported = set()
    for node in [node for source in sources for node in ast.walk(ast.parse(source))]:
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module)
    ours = {name for name in imported if name.partition(".")[0] == "tensorframe"}
    assert ours == CONTRACT
    others = {name.partition(".")[0] for name in imported} - {"tensorframe", "tensorframe_abacus"}
    assert others <= {"numpy", *sys.stdlib_module_names}


def test_the_wheel_passes_conformance(installed):
    report = run(installed, "-m", "tensorframe_abacus", "--seeds", "3")
    assert re.match(r"1\d\d\d checks passed, 0 failed\n", report)


def test_the_wheel_is_shown_with_what_its_metadata_say(installed):
    code = """
import sys, tensorframe as tfr
assert (tfr.ones(2) + 1).tolist() == [2.0, 2.0] and "tensorframe_abacus" not in sys.modules
x = tfr.sqrt(tfr.asarray([4.0, 9.0], dtype="float32", device="abacus")) + 1
plan = x.explain()
assert (plan.kernels, plan.fallbacks) == (1, 0)
assert x.tolist() == [3.0, 4.0] and x.device == "abacus"
(about,) = [found.about for found in tfr.backends.discover() if found.name == "abacus"]
assert (about.interface, about.version, about.licence) == ((1, 0), "1.0.0", "MIT")
assert all(found.about is None for found in tfr.backends.discover() if not found.origin)
print(tfr.backends.summary(), tfr.doctor(), sep="\\n\\n")
"""
    printed = " ".join(run(installed, "-c", code).split())
    row = "abacus tensorframe-abacus 1.0.0 The tensorframe authors MIT 1.0 - -"
    assert f'plug-in package author licence interface "auto" needs {row}' in printed
    line = "plug-in: abacus of tensorframe-abacus 1.0.0, author The tensorframe authors, licence"
    assert line in printed


@pytest.mark.parametrize(
    ("about", "reason", "fix"),
    [
        (
            "About(interface=(2, 0))",
            "it was written for version 2.0 of the interface of backends, and this is 1.0",
            "pip install --upgrade tensorframe-lazy",
        ),
        (
            "About(interface=(1, 7))",
            "it was written for version 1.7 of the interface of backends, and this is 1.0",
            "pip install --upgrade tensorframe-lazy",
        ),
        (
            "About(interface=(0, 9))",
            "it was written for version 0.9 of the interface of backends, and this is 1.0",
            "pip install --upgrade tensorframe-abacus",
        ),
        ("None", "about = About(interface=(1, 0))", "pip install --upgrade tensorframe-abacus"),
        (
            "About(interface=(1, 0), needs=('no_such_driver',))",
            "it needs no_such_driver, which is not installed",
            "pip install --upgrade tensorframe-abacus",
        ),
        ("About(interface='1.0')", "About: interface is a pair of numbers", "tensorframe-abacus"),
    ],
)
def test_a_wheel_that_does_not_fit_is_refused_and_breaks_nothing(installed, about, reason, fix):
    source = installed / "tensorframe_abacus" / "backend.py"
    text = source.read_text(encoding="utf-8")
    declared = "About(interface=(1, 0))"
    assert text.count(declared) == 1
    # what another version has changed may break the class as soon as it is called
    broken = text.replace(declared, about).replace("def probe(", "def find(")
    source.write_text(broken, encoding="utf-8")
    everywhere = "(2, 0)" in about  # drivers are asked for it, which takes seconds
    code = f"""
import warnings, tensorframe as tfr
if {everywhere}:
    tfr.backends.best()
    for text in (tfr.backends.summary(), str(tfr.doctor())):
        assert {reason!r} in text and {fix!r} in text and "abacus (tensorframe-abacus)" in text
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        tfr.ones(2, device="abacus")
    except tfr.errors.DeviceError as error:
        assert {reason!r} in str(error) and {fix!r} in str(error), error
    else:
        raise AssertionError("no error")
assert [str(warning.category.__name__) for warning in caught] == ["BackendWarning"]
assert (tfr.ones(2) + 1).tolist() == [2.0, 2.0] and "cpu" in tfr.backends.available()
print("refused")
"""
    assert run(installed, "-c", code).strip() == "refused"


def test_auto_looks_for_a_plug_in_where_its_priority_puts_it(installed):
    source = installed / "tensorframe_abacus" / "backend.py"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("(1, 0))", "(1, 0), priority=650)"), encoding="utf-8")
    code = """
import tensorframe as tfr
from tensorframe.backends.selection import backend_priority
print(*backend_priority(), tfr.backends.best())
tfr.set_backend_priority(['cpu'])
print(*backend_priority(), tfr.backends.best())
tfr.set_backend_priority(None)
print(tfr.backends.select("auto"))
"""
    shown = run(installed, "-c", code).splitlines()
    assert shown == ["abacus cuda rocm metal opencl wgpu cpu abacus", "cpu cpu", "abacus"]
