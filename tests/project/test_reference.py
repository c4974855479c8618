"""The API reference has every public name, once, with the docstring and signature that help() shows."""

import importlib.util
import sys
from pathlib import Path

import pytest

import tensorframe as tfr
from tensorframe.testing.stubs import public_names

SOURCE = Path(__file__).parents[2] / "docs" / "reference.py"


@pytest.fixture(scope="module")
def reference():
    specification = importlib.util.spec_from_file_location("reference", SOURCE)
    module = importlib.util.module_from_spec(specification)
    sys.modules["reference"] = module  # where its dataclasses look for it
    specification.loader.exec_module(module)
    yield module
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
        ":::{py:function} tensorframe.exp(x: Operand, /, out: Output = None, *, "
    )
    assert "```pycon\n>>> tfr.exp(" in text


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


def test_pages_that_nobody_writes_any_more_go(reference, tmp_path):
    (tmp_path / "old.md").write_text("")
    reference.write(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == {
        "index",
        *(group.file for group in reference.GROUPS),
    }
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    reference.write(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
