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

from tensorframe.backends import INTERFACE_VERSION

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "backend_plugin"
OURS = ".".join(map(str, INTERFACE_VERSION))
# what the contract is, and what proves that it is kept
CONTRACT = {
    "tensorframe",
    "tensorframe.backends",
    "tensorframe.extensions",
    "tensorframe.testing.conformance",
}


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


@pytest.mark.sweep
def test_the_wheel_passes_conformance(installed):
    report = run(
        installed, "-m", "tensorframe_abacus", "--seeds", "3", "--devices", "cpu", "abacus"
    )
    assert re.match(r"1\d\d\d checks passed, 0 failed\n", report)
    assert report.endswith("the op and the format keep theirs\n")


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
import tensorframe.__main__ as command
command.smoke.attempt = lambda device: command.smoke.Trial(device, True, "right")
command.main([])
print(tfr.doctor())
"""
    printed = " ".join(run(installed, "-c", code).split())
    row = "abacus tensorframe-abacus 1.0.0 The tensorframe authors MIT 1.0 - -"
    assert f'plug-in package author licence interface "auto" needs {row}' in printed
    line = "plug-in: abacus of tensorframe-abacus 1.0.0, author The tensorframe authors, licence"
    assert line in printed
    head = "extension package author licence interface needs state"
    rows = [
        f"{name} tensorframe-abacus 1.0.0 The tensorframe authors MIT 1.1 - works"
        for name in ("op lorentzian", "dialect abacus_c", "format beads", "column energy")
    ]
    assert f"{head} {' '.join(rows)}" in printed
    line = "extension: column energy of tensorframe-abacus 1.0.0, author The tensorframe authors"
    assert line in printed


def test_what_the_wheel_adds_beside_devices_is_there_by_name(installed, tmp_path):
    code = f"""
import sys, numpy as np, tensorframe as tfr
path = {str(tmp_path / "x.beads")!r}
x = tfr.asarray(np.linspace(-1, 1, 100, dtype="f4"))
assert "tensorframe_abacus" not in sys.modules
y = tfr.extensions.ops.lorentzian(x, 2.0) * 3
assert "tensorframe_abacus.ops" in sys.modules and "lorentzian" in dir(tfr.extensions.ops)
assert y.explain().kernels == 1 and "lorentzian multiply" in str(y.explain())
assert "B, energy 1" in str(y.explain()), y.explain()
text = y.explain(source="abacus_c")
assert "kernel_of(256) void k_" in text and "bank const float* restrict" in text, text
tfr.save(path, {{"x": x, "y": y}}, metadata={{"unit": "mm"}})
back = tfr.load(path)
assert list(back) == ["x", "y"] and tfr.load_metadata(path) == {{"unit": "mm"}}
np.testing.assert_array_equal(back["y"][::3].numpy(), y.numpy()[::3])
"""
    run(installed, "-c", code)


def test_extensions_that_do_not_fit_are_refused_and_break_nothing(installed, tmp_path):
    declared = "About(interface=(1, 1))"
    changes = {
        "ops": (declared, "About(interface=(2, 0))"),
        "dialect": (declared, "About(interface=(1, 1), needs=('no_such_compiler',))"),
        "format": ("class BeadsFormat(FileFormat)", "class BeadsFormat(dict)"),
        "column": ("picojoules: what", "picojoules: what\n1 / 0\n# what"),
    }
    for name, (was, now) in changes.items():
        source = installed / "tensorframe_abacus" / f"{name}.py"
        text = source.read_text(encoding="utf-8")
        assert text.count(was) == 1
        source.write_text(text.replace(was, now), encoding="utf-8")
    code = f"""
import warnings, numpy as np, tensorframe as tfr

def refused(error, text, call):
    try:
        call()
    except error as caught:
        assert text in str(caught), caught
    else:
        raise AssertionError("no error")

x = tfr.ones(3)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y = x + 1
    shown = str(y.explain())
    assert "energy" not in shown and shown == str(y.explain())
(warning,) = caught
assert "column 'energy' of the package tensorframe-abacus is left out: it does not load: Zero" in str(
    warning.message
)
assert warning.filename == "<string>"
version = "it was written for version 2.0 of the interface of extensions, and this is {OURS}"
refused(tfr.errors.TensorFrameError, version, lambda: tfr.extensions.ops.lorentzian(x, 2.0))
refused(tfr.errors.ArgumentError, "it needs no_such_compiler", lambda: x.explain(source="abacus_c"))
body = {{"abacus_c": "out[i] = x[i];"}}
refused(
    tfr.errors.ArgumentError,
    "it needs no_such_compiler",
    lambda: tfr.raw_kernel("copy", {{"x": "T[n]"}}, {{"out": "T[n]"}}, source=body),
)
path = {str(tmp_path / "x.beads")!r}
refused(tfr.errors.FileFormatError, "BeadsFormat is no FileFormat", lambda: tfr.save(path, x))
problems = [found.problem for found in tfr.extensions.listed()]
assert len(problems) == 4 and all(problems), problems
assert (x + 1).tolist() == [2.0, 2.0, 2.0] and tfr.ones(2, device="abacus").tolist() == [1.0, 1.0]
"""
    run(installed, "-c", code)


@pytest.mark.parametrize(
    ("about", "reason", "fix"),
    [
        (
            "About(interface=(2, 0))",
            f"it was written for version 2.0 of the interface of backends, and this is {OURS}",
            "pip install --upgrade tensorframe-lazy",
        ),
        (
            "About(interface=(1, 99))",
            f"it was written for version 1.99 of the interface of backends, and this is {OURS}",
            "pip install --upgrade tensorframe-lazy",
        ),
        (
            "About(interface=(0, 9))",
            f"it was written for version 0.9 of the interface of backends, and this is {OURS}",
            "pip install --upgrade tensorframe-abacus",
        ),
        (
            "None",
            f"about = About(interface={INTERFACE_VERSION})",
            "pip install --upgrade tensorframe-abacus",
        ),
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
