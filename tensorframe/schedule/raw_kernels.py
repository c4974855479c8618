"""Raw kernels in plans: which device runs a user's source, and the reference where none does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensorframe.backends.entries import is_installed
from tensorframe.backends.registry import capabilities
from tensorframe.graph.device import Device
from tensorframe.graph.node import Node
from tensorframe.ops.movement import PART
from tensorframe.rewrite.engine import Builder, Rule
from tensorframe.schedule.fallback import tell_reference

if TYPE_CHECKING:
    from tensorframe.ops.raw_kernels import RawCall


def refusal(call: RawCall, device: Device) -> str | None:
    """Return why a device does not run a source of the kernel; None if it does."""
    # with the dialects of all devices, for the few who write kernels
    from tensorframe.codegen.raw.names import LANGUAGES, title
    from tensorframe.codegen.raw.text import UnspeakableError, check_words

    able = capabilities(device)
    language = able.language
    if not language:
        if not able.executes and call.reference is None:
            return None  # which makes plans of anything
        return f"{device} runs no sources"
    if call.source(language) is None:
        return f"it has no source in {title(language)}, which {device} runs"
    if language == "cpu":
        if is_installed("numba"):
            return None
        return "Numba, which compiles its source, is not installed: pip install tensorframe-lazy[numba]"
    try:
        check_words(call, LANGUAGES[language].types, title(language))
    except UnspeakableError as error:
        return str(error)
    return None


def runs_reference(call: RawCall, device: Device) -> bool:
    """Whether a device runs what the kernel means in place of a source."""
    return call.reference is not None and refusal(call, device) is not None


def _is_expected(device: Device) -> bool:
    """Whether nobody is surprised that a device runs the reference: it has no language, by design."""
    able = capabilities(device)
    return not able.language and (able.host_memory or not able.executes)


def _written_out(node: Node, build: Builder) -> Node | None:
    """A raw kernel whose device has no source becomes what its reference records."""
    whole = node.inputs[0] if node.op is PART else node
    call = whole.op.raw
    if call is None or (whole is node and len(call.outputs) > 1):  # of which parts are taken
        return None
    if whole.storage is not None:
        return None
    reason = None if call.reference is None else refusal(call, whole.device)
    if reason is None:
        return None
    if not _is_expected(whole.device):
        tell_reference(whole, reason)
    results = call.reference(call, whole.device).replay(
        whole.inputs,
        lambda known, inputs: build.make(
            known.op, inputs, known.attrs, known.shape, known.dtype, known.device, node
        ),
    )
    made: Node = results[node.attrs[0] if whole is not node else 0]
    return made


write_references = Rule(lambda op: op.raw is not None or op is PART, _written_out)
