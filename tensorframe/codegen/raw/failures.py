"""What compilers say of a raw kernel, with the user's own lines in place of those of the whole text."""

from __future__ import annotations

import re

from tensorframe.codegen.raw.names import title
from tensorframe.codegen.raw.text import RawText
from tensorframe.errors import KernelError
from tensorframe.quick_tuples import NamedTuple

# where a compiler says that something is wrong: in lines of the body, which `#line` has named, or of the whole text
_OF_BODY = r"{file}[:(](\d+)\)?(?::\d+)?:?\s*(?:(?:fatal )?error:?\s*)?(.*)"
_OF_TEXT = re.compile(r"┌─ \S*?:(\d+):\d+")
# what WGSL's compiler writes below a line that it draws, and what its validation adds
_LABEL = re.compile(r"^\s*│.*?\^+ (?!naga)(.+)$", re.MULTILINE)
_DRAWN = re.compile(r"^\s*(\d+) │.*\n\s*│[ │]*\^", re.MULTILINE)
_REASON = re.compile(r"^\s*= (.+)$", re.MULTILINE)
_COLOURS = re.compile(r"\x1b\[[\d;]*m")
_SHOWN = 20


class Complaint(NamedTuple):
    """A line of the body, counted from 1, and what is wrong with it; None where it is no line of the body."""

    line: int | None
    message: str


def failure(text: RawText, log: str) -> KernelError:
    """Return the error of a kernel that does not compile."""
    complaint = _complaint(text, _COLOURS.sub("", log))
    return compile_error(
        text.call.name, text.language, text.body.split("\n"), complaint, log, text.call.place
    )


def compile_error(
    name: str,
    language: str,
    lines: list[str],
    complaint: Complaint,
    log: str,
    place: str | None,
) -> KernelError:
    """Return the error of a source in a language, whose lines these are."""
    message = f"{name}: its source in {title(language)} does not compile: {complaint.message}"
    if complaint.line is None or not lines:
        message += "\n  not in a line of the body: a brace or a parenthesis that is missing, or one too many?"
    else:
        line = min(max(complaint.line, 1), len(lines))
        first = max(line - 2, 1)
        shown = range(first, min(line + 1, len(lines)) + 1)
        message += f"\n  line {line} of the body:"
        message += "".join(
            [
                f"\n  {'>' if number == line else ' '} {number:3} | {lines[number - 1]}"
                for number in shown
            ]
        )
    if place is not None:
        message += f"\n  declared at {place}"
    said = [line for line in _COLOURS.sub("", log).strip().splitlines() if line.strip()]
    hints = (
        "t.explain(source=True), which shows the whole text with the signature that was generated",
        f"what the compiler said: {' / '.join(line.strip() for line in said[:_SHOWN])}",
    )
    return KernelError(message, suggestions=hints)


def _complaint(text: RawText, log: str) -> Complaint:
    if text.language == "wgsl":
        return _of_whole_text(text, log)
    file = re.escape(f"{text.call.name}.{text.language}")
    complaints = [
        match for match in re.finditer(_OF_BODY.format(file=file), log) if "warning" not in match[2]
    ]
    if complaints:
        return Complaint(int(complaints[0][1]), _said(complaints[0][2], log))
    return Complaint(None, _said("", log))


def _of_whole_text(text: RawText, log: str) -> Complaint:
    """Return what WGSL's compiler says, which counts the lines of the whole text."""
    places = [
        int(match[1]) - text.first + 1
        for where in (_DRAWN, _OF_TEXT)
        for match in where.finditer(log)
    ]
    message = _said("", log)
    if "validation error" in message:  # it says what is invalid, and why below
        reasons = _LABEL.findall(log) + _REASON.findall(log)[-1:]
        message = "; ".join(reasons) or message
    count = text.body.count("\n") + 1
    inside = [line for line in places if 1 <= line <= count]
    if inside:
        return Complaint(inside[0], message)
    return Complaint(None, message)


def _said(message: str, log: str) -> str:
    """Return the sentence that says what is wrong."""
    if message.strip():
        return message.strip()
    for line in log.splitlines():
        match = re.search(r"(?<!alidation )error: \s*(.*)", line) or re.search(
            r"(.*validation error.*)", line
        )
        if match and match[1].strip():
            return match[1].strip()
    return next(
        (line.strip() for line in log.splitlines() if line.strip()), "the compiler does not say why"
    )
