"""The notebooks run, and show what is kept with them; the comparison sees what it should and overlooks the rest."""

import copy
import io
import subprocess
import sys
from base64 import b64encode

import numpy as np
import pytest

pytest.importorskip("nbclient")

from nbformat import v4
from PIL import Image

from examples.notebooks import execution, tidy
from examples.notebooks.__main__ import main
from examples.notebooks.comparison import differences

NOTEBOOKS = execution.paths()


@pytest.mark.sweep(5)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_shows_what_is_kept(path):
    # in a process of its own: the client of the kernel leaves sockets and event loops behind
    command = [sys.executable, "-m", "examples.notebooks", path.stem]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=execution.CHECKOUT
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_kept_notebook_is_small_and_tidy(path):
    kept = execution.read(path)
    assert path.stat().st_size <= tidy.LARGEST
    assert tidy.tidied(copy.deepcopy(kept)) == kept
    assert [cell.execution_count for cell in kept.cells if cell.cell_type == "code"] == [
        number + 1 for number in range(sum(cell.cell_type == "code" for cell in kept.cells))
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_notebook_shows_a_picture_and_a_plan(path):
    outputs = [output for cell in execution.read(path).cells for output in cell.get("outputs", [])]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert any(kind.startswith("image/") for kind in kinds)
    shown = [output.get("data", {}).get("text/plain", output.get("text", "")) for output in outputs]
    assert any("plan: " in text for text in shown)


def test_an_unknown_name_says_which_there_are(capsys):
    with pytest.raises(SystemExit):
        main(["cooking"])
    assert NOTEBOOKS[0].stem in capsys.readouterr().err


def test_what_is_not_installed_is_said_with_the_command(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "nbclient", None)
    monkeypatch.delitem(sys.modules, "nbclient.exceptions", raising=False)
    assert main([NOTEBOOKS[0].stem]) == 1
    assert "pip install --editable '.[examples]'" in capsys.readouterr().err


def printed(text, tags=()):
    """A notebook of one cell that prints `text`."""
    cell = v4.new_code_cell("show()", outputs=[v4.new_output("stream", name="stdout", text=text)])
    cell.metadata["tags"] = list(tags)
    return v4.new_notebook(cells=[cell])


def drawn(pixels, **options):
    """A notebook of one cell that draws a picture."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    data = {"image/png": b64encode(file.getvalue()).decode(), "text/plain": "<Figure>"}
    output = v4.new_output("display_data", data=data, **options)
    return v4.new_notebook(cells=[v4.new_code_cell("draw()", outputs=[output])])


@pytest.mark.parametrize(
    ("kept", "fresh"),
    [
        ("took 12.3 ms", "took 4 us"),
        ("at 0x7f00ab12", "at 0x55aa01"),
        ("def k_81ff01ab(start)", "def k_09ab77cd(start)"),
        ("copies 12.1 GB/s", "copies 7 GB/s"),
        ("mean 0.5691", "mean 0.5692"),
        ("3.13 MiB, 3.03e+07 flops", "3.13 MiB, 3.03e+07 flops"),
        ("a    b\n------\n", "a  b\n----\n"),
    ],
)
def test_what_depends_on_the_machine_is_overlooked(kept, fresh):
    assert list(differences(printed(kept), printed(fresh))) == []


@pytest.mark.parametrize(
    ("kept", "fresh"),
    [
        ("plan: 1 kernel", "plan: 2 kernels"),
        ("mean 0.569", "mean 0.612"),
        ("3 of 1797 digits", "5 of 1797 digits"),
        ("right", "wrong"),
        ("right", "right\nand more"),
        ("-1.5", "1.5"),
    ],
)
def test_what_is_wrong_is_found(kept, fresh):
    (line,) = differences(printed(kept), printed(fresh))
    assert line.startswith("cell 0 (show()): says")


def test_a_cell_that_varies_is_compared_by_kind():
    kept = printed("three devices", tags=["varies"])
    assert list(differences(kept, printed("one device"))) == []
    assert list(differences(kept, drawn(np.zeros((9, 9, 3), np.uint8)))) != []


def test_errors_and_warnings_are_found_even_if_kept():
    noisy = printed("look out")
    noisy.cells[0].outputs[0].name = "stderr"
    (line,) = differences(noisy, noisy)
    assert "error stream: look out" in line


def test_pictures_are_compared_from_far():
    rng = np.random.default_rng(0)
    black = np.zeros((240, 320, 3), np.uint8)
    grain = rng.integers(0, 12, black.shape).astype(np.uint8)
    assert list(differences(drawn(black), drawn(grain))) == []
    assert list(differences(drawn(black), drawn(black + 90))) != []
    assert list(differences(drawn(black), drawn(black[1:]))) != []


def test_tidying_joins_pieces_of_a_stream_and_gives_plots_a_palette():
    pieces = [v4.new_output("stream", name="stdout", text=text) for text in ("a\n", "b\n")]
    notebook = printed("")
    notebook.cells[0].outputs = pieces
    assert [one.text for one in tidy.tidied(notebook).cells[0].outputs] == ["a\nb\n"]
    shades = np.random.default_rng(0).integers(0, 255, (64, 64, 3)).astype(np.uint8)
    before = drawn(shades)
    after = tidy.tidied(copy.deepcopy(before))
    length = [len(one.cells[0].outputs[0].data["image/png"]) for one in (before, after)]
    assert length[1] < length[0] / 2


def test_a_notebook_that_is_too_large_is_not_written(tmp_path):
    with pytest.raises(ValueError, match=r"big\.ipynb would have"):
        tidy.write(printed("x" * tidy.LARGEST), tmp_path / "big.ipynb")
    assert not (tmp_path / "big.ipynb").exists()
