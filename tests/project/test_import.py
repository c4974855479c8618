"""`import tensorframe` costs little more than `import numpy`, and says which version it is."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tensorframe
from tensorframe.backends.numpy.spellings import MODULES

ROOT = Path(__file__).parents[2]

NEW_MODULES = """
import sys
import numpy, ml_dtypes
before = set(sys.modules)
import tensorframe
{then}
print(*sorted(set(sys.modules) - before), sep="\\n")
"""
# NumPy gives the bits of kernels: in a plan, and by formulas of ours where they are few
FIRST_RESULTS = """
x = tensorframe.asarray(numpy.linspace(0.0, 1.0, 10_000), device="cpu")
((x * 2 + 1) / 3).compute()
"""
FIRST_SMALL_RESULT = """
tensorframe.sin(tensorframe.asarray(numpy.linspace(0.0, 1.0, 16), device="cpu")).compute()
"""

# what is loaded besides by a result; at the end of a process more is, for what is computed last
FROM_NOW_ON = """
before |= set(sys.modules)
{result}
print(*sorted(set(sys.modules) - before), sep="\\n")
sys.stdout.flush()
before |= set(sys.modules)
"""

# of the standard library, what takes milliseconds
SLOW = {"array", "decimal", "email", "hashlib", "importlib.metadata", "pathlib", "signal"}


def modules_new_to_a_process(then=""):
    program = NEW_MODULES.format(then=then)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.fixture(scope="module")
def new_modules():
    """What a fresh process loads for tensorframe once NumPy and ml_dtypes are there."""
    return modules_new_to_a_process()


def test_reading_an_array_loads_nothing_that_writes():
    loaded = modules_new_to_a_process("import tensorframe.frontend.files.npy")
    assert "tensorframe.frontend.files.segment" in loaded
    assert not {"hashlib", "tensorframe.frontend.files.write"}.intersection(loaded)


def test_import_loads_no_package_but_numpy_and_ml_dtypes(new_modules):
    packages = {name.partition(".")[0] for name in new_modules}
    assert packages - set(sys.stdlib_module_names) - {"numpy", "ml_dtypes"} == {"tensorframe"}


def test_import_loads_only_few_modules_of_the_standard_library(new_modules):
    others = {name.partition(".")[0] for name in new_modules if not name.startswith("_")}
    assert len(others - {"tensorframe", "numpy"}) <= 28, others
    assert SLOW.isdisjoint(new_modules)


def test_import_loads_nothing_that_only_computing_needs(new_modules):
    own = [name for name in new_modules if name.startswith("tensorframe")]
    assert len(own) <= 220, (
        "each takes a quarter of a millisecond; what few programs need comes when it is needed"
    )
    parts = {
        "tensorframe.kernel",
        "tensorframe.codegen",
        "tensorframe.nn",
        "tensorframe.runtime.checks.validation",
    }
    assert parts.isdisjoint(own)
    assert {f"tensorframe.backends.numpy.{name}" for name in MODULES.values()}.isdisjoint(own)


@pytest.mark.parametrize("state", ["enable", "disable"])
def test_import_leaves_the_collector_of_cycles_as_it_was(state):
    program = f"import gc; gc.{state}(); import tensorframe; print(gc.isenabled())"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(state == "enable")


def test_import_leaves_alone_what_the_program_froze():
    program = "import gc; {}; import tensorframe; print(gc.get_freeze_count() > 0)"
    for before, is_frozen in (("gc.freeze()", "True"), ("gc.collect()", "False")):
        done = subprocess.run(
            [sys.executable, "-c", program.format(before)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == is_frozen


def test_the_first_result_of_the_cpu_loads_no_slow_module_and_no_formula():
    loaded = modules_new_to_a_process(FIRST_RESULTS)
    unwanted = {"decimal", "importlib.metadata", "tensorframe.kernel.math.trigonometric"}
    unwanted |= {f"tensorframe.backends.numpy.{name}" for name in ("convolution", "products")}
    assert unwanted.isdisjoint(loaded)
    assert "llvmlite" not in loaded


def test_the_first_small_result_loads_little_more():
    result = "(tensorframe.asarray(numpy.ones(16, numpy.float32), device='cpu') * 2 + 1).numpy()"
    loaded = modules_new_to_a_process(FROM_NOW_ON.format(result=result))
    own = [name for name in loaded if name.startswith("tensorframe")]
    assert len(own) <= 16, own
    assert {"pathlib", "queue", "urllib"}.isdisjoint(loaded)


def test_the_first_small_result_loads_its_formula_and_no_compiler():
    loaded = modules_new_to_a_process(FIRST_SMALL_RESULT)
    assert {"decimal", "importlib.metadata", "llvmlite"}.isdisjoint(loaded)
    assert "tensorframe.kernel.math.trigonometric" in loaded


def test_the_first_kernel_of_a_process_loads_nothing_that_others_need():
    pytest.importorskip("llvmlite", reason="kernels are compiled by LLVM")
    result = "tensorframe.exp(tensorframe.asarray(numpy.ones(10_000), device='llvm')).compute()"
    loaded = modules_new_to_a_process(FROM_NOW_ON.format(result=result))
    assert "tensorframe.kernel.build" in loaded
    others = {
        "hashlib",
        "tensorframe.backends.numpy.products.product",
        "tensorframe.backends.numpy.region",
        "tensorframe.codegen.python",
        "tensorframe.kernel.math.complex",
        "tensorframe.kernel.math.trigonometric",
    }
    assert others.isdisjoint(loaded)


def test_version_is_a_release_number():
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc|\.dev)\d+)?", tensorframe.__version__)


def test_version_is_written_once(metadata):
    assert "version" in metadata["project"]["dynamic"]
    source = ROOT / metadata["tool"]["hatch"]["version"]["path"]
    assert f'__version__ = "{tensorframe.__version__}"' in source.read_text(encoding="utf-8")


def test_dependencies_are_few_packages(metadata):
    names = [re.split(r"[^\w-]", line)[0] for line in metadata["project"]["dependencies"]]
    few = ["llvmlite", "ml-dtypes", "networkx", "numpy", "opt-einsum", "threadpoolctl", "tqdm"]
    assert sorted(names) == few


def test_types_are_shipped():
    assert (ROOT / "tensorframe" / "py.typed").is_file()
