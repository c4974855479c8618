"""From a kernel's text to object code for this machine: LLVM's passes, then its code generator."""

from __future__ import annotations

import re
from typing import Any

import llvmlite.binding as llvm

from tensorframe.backends.llvm.target import processor, target_machine
from tensorframe.codegen.llvm import SELECTED
from tensorframe.forks import new_lock
from tensorframe.kernel.ir import USER
from tensorframe.ops.user import MODULES

_lock = new_lock()  # the target machine is shared


# what a kernel calls of the user's, see ops/user.py
_USERS = re.compile(rf"^declare .*@({USER}\w+)\(", re.MULTILINE)


def object_code(text: str) -> bytes:
    """Compile a module of LLVM for this machine."""
    with _lock:
        return bytes(target_machine().emit_object(optimised(text)))


def optimised(text: str) -> Any:
    """Return LLVM's module of a text after its passes."""
    module = llvm.parse_assembly(text)
    module.triple = processor().triple
    module.data_layout = str(target_machine().target_data)
    users = _USERS.findall(text)
    for name in users:
        module.link_in(llvm.parse_assembly(MODULES[name].text))
    module.verify()
    if text.startswith(SELECTED) and not users:
        return module
    # Kernels come in the form that the passes of higher levels would bring them into; what is left to do is to
    # vectorise, and to unroll: without it a sum of columns is six times slower.
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    options.loop_vectorization = options.loop_unrolling = options.loop_interleaving = True
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(target_machine(), options)
    builder.getModulePassManager().run(module, builder)
    return module
