"""Measures in a process of its own what generating takes at most: `python -m tests.nn.generating_process PATH`.

PATH is a GGUF file, or a folder with safetensors; a small one of the same kind, beside it and named so, runs
before: libraries are loaded then, and kernels compiled. Prints a line of JSON: the bytes of weights and cache, and by
how much the process grew.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import tensorframe as tfr
from tests.frontend.high_water import _settle, _status

PROMPT, COUNT = list(range(20)), 3


def loaded(path: Path) -> Any:
    """The model of a file or folder."""
    llama = tfr.nn.models.Llama
    return llama.from_folder(path) if path.is_dir() else llama.from_gguf(path)


def main(name: str) -> None:
    """Generate with a small model, then with the other, and print what that took."""
    tfr.config.configure(threads=2)
    path = Path(name)
    small = loaded(path.with_name(f"{path.stem}-small{path.suffix}"))
    list(small.generate(PROMPT, max_tokens=COUNT))
    del small
    _settle()
    model = loaded(path)
    needs = tfr.nn.estimate_memory(model, context=len(PROMPT) + COUNT)
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark begins again
    before = _status("VmRSS")
    list(model.generate(PROMPT, max_tokens=COUNT))
    grown = _status("VmHWM") - before
    sys.stdout.write(json.dumps({"needs": needs.total, "grown": grown}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
