"""IPython in this process, and cells run in a kernel of their own, as tests see them."""

import builtins
import os
import re
from contextlib import contextmanager
from pathlib import Path

import nbformat
from IPython.core.history import HistoryManager
from IPython.core.interactiveshell import InteractiveShell
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def environment_of_users():
    """What a kernel finds in its environment: the package, and no option that tests have set."""
    return os.environ | {"PYTHONPATH": str(ROOT), "TENSORFRAME_TRACEBACKS": "auto"}


@contextmanager
def a_shell():
    """Have IPython's shell run in this process, without its history of earlier sessions."""
    HistoryManager.enabled = False
    # left by whatever example of a docstring ran before in this process; IPython would not set its own
    vars(builtins).pop("_", None)
    # whoever runs the tests may have another virtual environment active, which IPython would warn of
    shell = InteractiveShell.instance(colors="nocolor", warn_venv=False)
    try:
        yield shell
    finally:
        HistoryManager.enabled = True
        InteractiveShell.clear_instance()


def run_in_kernel(*cells, **environment):
    """Return the outputs of each cell, run one after the other by ipykernel; errors are outputs too."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
    client = NotebookClient(notebook, timeout=120, allow_errors=True, kernel_name="python3")
    with client.setup_kernel(env=environment_of_users() | environment):
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
    return [cell.outputs for cell in notebook.cells]


def traceback_of(outputs):
    """Return the traceback among the outputs of a cell, as plain text."""
    (error,) = [output for output in outputs if output.output_type == "error"]
    return COLOURS.sub("", "\n".join(error.traceback))
