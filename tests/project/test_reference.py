"""The API reference has every public name, once, with the docstring and signature that help() shows."""

import importlib.util
import inspect
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import tensorframe as tfr
from tensorframe.documentation import sections
from tensorframe.documentation.docstrings import Docstring
from tensorframe.documentation.numpydoc import resolved
from tensorframe.testing.stubs import public_names

SOURCE = Path(__file__).parents[2] / "docs" / "reference.py"


@pytest.fixture(scope="module")
def reference():
    specification = importlib.util.spec_from_file_location("reference", SOURCE)
    module = importlib.util.module_from_spec(specification)
    sys.modules["reference"] = module  # where its dataclasses look for it
    sys.path.insert(0, str(SOURCE.parent))  # where `fields` is
    specification.loader.exec_module(module)
    yield module
    sys.path.remove(str(SOURCE.parent))
    del sys.modules["reference"]


def test_every_public_name_is_on_one_page(reference):
    listed = [path for group in reference.GROUPS for path, _ in reference.entries(group)]
    assert len(listed) == len(set(listed))
    wanted = {f"tensorframe.{name}" for name in public_names()}
    wanted -= {"tensorframe.__version__", "tensorframe.dtypes"}
    wanted -= {f"tensorframe.{module}" for module in reference.MODULES}
    assert wanted <= set(listed)


def test_no_page_is_empty_and_each_home_is_right(reference):
    for group in reference.GROUPS:
        assert reference.entries(group), group.title
    assert reference.group_of("softmax").file == "reductions"
    assert reference.group_of("sin").file == "elementwise"
    assert reference.group_of("einsum").file == "contractions"


def test_an_entry_has_signature_text_and_examples(reference):
    text = reference.entry("tensorframe.exp", tfr.exp)
    assert text.startswith(
        ":::{py:function} tensorframe.exp(x: ArrayLike, /, out: Output = None, *, "
    )
    assert "```pycon\n>>> tfr.exp(" in text


def test_each_function_and_class_has_a_page_that_its_group_lists(reference):
    for group in reference.GROUPS:
        text = reference.page(group)
        for path, value in reference.entries(group):
            if reference.has_page(path, value):
                assert f"| {{py:obj}}`{reference.shown(path)} <{path}>` | " in text
    (group,) = [group for group in reference.GROUPS if group.file == "reductions"]
    text = reference.own_page(group, "tensorframe.max", tfr.max)
    assert text.startswith(
        "---\norphan: true\n---\n\n# tfr.max\n\n[Reductions and scans](reductions.md)\n"
    )
    assert "{py:function} tensorframe.max(" in text


def test_methods_of_tensors_are_described(reference):
    (group,) = [group for group in reference.GROUPS if group.file == "tensor"]
    text = reference.page(group)
    for name in ("reshape(", "numpy(", "to_device(", "explain("):
        assert f"{{py:method}} {name}" in text
    assert "{py:property} shape" in text
    assert "{py:property} node" not in text


def test_examples_end_where_text_goes_on(reference):
    text = "Sum.\n\n>>> f(1)\n2\n\n>>> f(2)\n<BLANKLINE>\n3\n\nAnd on."
    expected = "Sum.\n\n```pycon\n>>> f(1)\n2\n\n>>> f(2)\n\n3\n```\n\nAnd on."
    assert reference.markdown(text) == expected


def test_pages_that_nobody_writes_any_more_go(reference, tmp_path, monkeypatch):
    # all of them are written when the site is built
    few = [group for group in reference.GROUPS if group.file in ("reductions", "nn", "errors")]
    monkeypatch.setattr(reference, "GROUPS", few)
    (tmp_path / "old.md").write_text("")
    reference.write(tmp_path)
    written = {path.stem for path in tmp_path.iterdir()}
    assert {"index", "reductions", "tensorframe.max", "tensorframe.nn.Linear"} <= written
    assert "old" not in written
    assert len({name.lower() for name in written}) == len(written), "some disks ignore case"
    pages = [path.read_text() for path in tmp_path.iterdir()]
    assert not [text for text in pages if "\n-----" in text], "a section became a heading"
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    reference.write(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


def functions_of(reference):
    """Yield each function, method and constructor that the reference describes, with its full name."""
    for group in reference.GROUPS:
        named = reference.entries(group)
        if group.file == "tensor":
            named = [("tensorframe.Tensor", tfr.Tensor)]
        for path, value in named:
            if not isinstance(value, type):
                yield from [(path, value)] if callable(value) else []
            elif value.__module__.startswith("tensorframe"):
                members = vars(value).items()
                yield from (
                    (f"{path}.{name}", getattr(member, "__func__", member))
                    for name, member in members
                    if name[0] != "_"
                    and isinstance(member, types.FunctionType | classmethod | staticmethod)
                )
                if "__init__" in vars(value) and not hasattr(value, "__dataclass_fields__"):
                    yield path, value.__init__


def test_every_parameter_has_a_meaning(reference):
    unknown = [
        f"{path}: {name}"
        for path, function in functions_of(reference)
        for name in sections.parameters(function)
        if not sections.meaning_of(path, name)
    ]
    assert unknown == [], "write what they mean into tensorframe/documentation/parameters.toml"


# Parameters that may be anything, and why; every other one has a type.
ANYTHING = {
    "handed on to a function of the user's, or one option of many": "args arguments kwargs kw kwds options operands "
    "changes settings k",
    "tensors in containers of any kind and depth": "arrays axes expr expression factors gradients inputs loss "
    "parameters parts optimizer modules",
    "what one library, one device or one plug-in knows": "arg array buffer built handle matrix obj source "
    "stream target",
    "a path, or an object that reads or writes": "fid file fname path",
    "a tensor, a sparse or a quantised one": "other scales w weight words x zeros",
    "one number, several, or a tuple of them": "index new_shape funclist",
}


def test_no_parameter_is_anything_without_a_reason(reference):
    allowed = {name for names in ANYTHING.values() for name in names.split()}
    untyped = {}
    for path, function in functions_of(reference):
        signature = inspect.signature(function) if sections.parameters(function) else None
        for name in sections.parameters(function):
            if signature.parameters[name].annotation in ("Any", Any):
                untyped.setdefault(name, path)
    assert {name: path for name, path in untyped.items() if name not in allowed} == {}
    assert allowed <= set(untyped), "they have types by now"


def test_meanings_that_nobody_reads_go(reference):
    read = set()
    for path, function in functions_of(reference):
        *modules, own = path.removeprefix("tensorframe.").split(".")
        for name in sections.parameters(function):
            places = [own, *reversed(modules), "any"]
            read |= {next((place, name) for place in places if name in table(sections, place))}
    written = {(place, name) for place, names in sections.meanings().items() for name in names}
    assert written - read == set()


def table(sections, place):
    return sections.meanings().get(place, {})


def test_a_function_has_its_parameters_result_errors_and_differences(reference):
    text = reference.entry("tensorframe.max", tfr.max)
    assert ":param axis: An axis, several in a tuple, or None for all" in text
    assert ":rtype: Tensor" in text
    assert ":raises DTypeError: " in text
    assert ":raises ShapeError: " in text
    assert (
        "{py:obj}`amax <tensorframe.amax>`, {py:obj}`Tensor.max <tensorframe.Tensor.max>`" in text
    )
    text = reference.entry("tensorframe.divide", tfr.divide)
    assert "**Differences from NumPy**: integers give the default real dtype, float32." in text


def test_sections_of_a_docstring_in_numpydocs_style_become_fields(reference):
    text = reference.entry("tensorframe.nn.functional.conv2d", tfr.nn.functional.conv2d)
    assert ":param weight: Shape (O, C / groups, kernel height, kernel width)." in text
    assert ":param padding: One number for both axes, or one for each." in text
    assert ":returns: Shape (N, O, H', W')" in text
    assert ":raises ShapeError: If channels and groups do not divide" in text
    assert "```pycon\n>>> x = tfr.ones((1, 1, 3, 3))" in text
    assert "----" not in text


def test_an_error_has_its_own_condition_of_a_sentence_about_several(reference):
    text = reference.entry("tensorframe.vmap", tfr.vmap)
    assert ":raises ShapeError: If arguments have different numbers of examples.\n" in text
    assert ":raises AxisError: If one lacks its axis.\n" in text
    text = reference.entry("tensorframe.concat", tfr.concat)
    assert ":raises ShapeError: Unless their other axes have equal sizes.\n" in text


def test_errors_that_a_docstring_does_not_name_are_read_from_the_source(reference):
    text = reference.entry("tensorframe.split", tfr.split)
    assert ":raises ShapeError: " in text
    text = reference.entry("tensorframe.moveaxis", tfr.moveaxis)
    assert ":raises ShapeError: “" in text
    text = reference.entry("tensorframe.nn.Embedding", tfr.nn.Embedding)
    assert ":raises ShapeError: “" in text


def test_every_function_and_class_is_described_in_a_dozen_words(reference):
    short = {}
    for group in reference.GROUPS:
        for path, value in reference.entries(group):
            home = getattr(value, "__module__", None) or ""
            if not (isinstance(value, type) or callable(value)) or not home.startswith(
                "tensorframe"
            ):
                continue  # a constant, or NumPy's own
            prose = (inspect.getdoc(value) or "").split(">>>")[0]
            if (count := len(re.findall(r"[A-Za-z]{2,}|\ba\b", prose, re.IGNORECASE))) < 12:
                short[path] = count
    assert short == {}


def test_a_function_of_an_axis_has_an_example_with_one(reference):
    """A vector of three shows a name; what an axis does, only an array of several dimensions shows."""
    bare = []
    for group in reference.GROUPS:
        for path, value in reference.entries(group):
            home = getattr(value, "__module__", None) or ""
            if isinstance(value, type) or not callable(value) or not home.startswith("tensorframe"):
                continue
            examples = "\n".join(re.findall(r">>>.*|\.\.\. .*", value.__doc__ or ""))
            if {"axis", "axes"} & {*sections.parameters(value)} and not re.search(
                r"\[\[|\(\(|reshape|ax[ie]s=|, \(\d", examples
            ):
                bare.append(path)
    assert bare == []


def headings(text):
    """Return the sections of a docstring as a reader is shown it."""
    return re.findall(r"^(\w[\w ]*)\n-{3,}$", text, re.MULTILINE)


def test_help_shows_sections_in_numpydocs_order():
    text = inspect.getdoc(tfr.sum)
    assert text.startswith(tfr.sum.__doc__.partition("\n")[0])
    assert headings(text) == ["Parameters", "Returns", "See Also", "Examples"]
    assert "axis : int or tuple of ints or None, default None\n    An axis, several in" in text
    assert "dtype : dtype or str or None, default None\n" in text
    assert text.index("Examples") < text.index(">>> tfr.sum(")
    assert "Differences from NumPy: integers give" in inspect.getdoc(tfr.divide)
    assert headings(inspect.getdoc(tfr.nn.Linear)) == ["Parameters", "Examples"]
    assert headings(inspect.getdoc(tfr.nn.functional.conv2d)) == [
        *("Parameters", "Returns", "Raises", "Examples")
    ]
    assert "Raises\n------\nShapeError\n" in inspect.getdoc(tfr.split)


def test_help_names_each_parameter_and_error_that_the_site_names(reference):
    results = tuple(f"tensorframe.{path}" for group in reference.GROUPS for path in group.results)
    missing, plain = [], set()
    for path, function in functions_of(reference):
        if not sections.parameters(function):
            continue  # and NumPy's own
        described = resolved(path) if function.__name__ == "__init__" else function
        if not isinstance(described.__doc__, Docstring):
            plain.add(path)
            continue
        known = sections.sections(path, function, sections.as_written(described))
        shown = inspect.getdoc(described)
        missing += [
            f"{path}: {name}"
            for name in (*known.parameters, *known.raises)
            if not re.search(rf"^\**{name}\b|^[\w, ]+, {name}\b", shown, re.MULTILINE)
        ]
    assert missing == []
    assert {path for path in plain if not path.startswith(results)} == set()


HELPED = """
import tensorframe.nn as nn
help(nn.functional.dropout)
from IPython.core.oinspect import Inspector
import tensorframe as tfr
print(Inspector(theme_name="nocolor").info(tfr.fft.fft)["docstring"])
"""


def test_help_and_ipython_show_sections_in_a_new_process():
    done = subprocess.run(
        [sys.executable, "-c", HELPED], capture_output=True, text=True, check=True
    )
    assert done.stdout.count("Parameters\n") == 2, done.stdout


def test_importing_the_package_makes_no_section():
    program = (
        "import sys, tensorframe; print(*[name for name in sys.modules if 'documentation' in name])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [
        "tensorframe.documentation",
        "tensorframe.documentation.docstrings",
    ]
