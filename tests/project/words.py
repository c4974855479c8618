"""Which words are not used here, and where they are: the list that tests/project/test_words.py holds to zero."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
# Tests are left out: what they find is compared in the next line, where `found` is as good as any name.
CODE = [
    ROOT / "noxfile.py",
    *(
        path
        for name in ("tensorframe", "examples", "docs")
        for path in sorted((ROOT / name).rglob("*.py"))
    ),
]
MADE = {ROOT / "docs" / name for name in ("_build", "api", "notebooks")}
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if not MADE & set(page.parents)),
]

# Names that leave out what they are, and the modules that may have them: in formulas and reductions `one` is the
# number, and rows of ops say their values `at` points.
EMPTY_NAMES = {
    "one": ("kernel/math/", "ops/reduction.py"),
    "found": (),
    "at": ("graph/op.py",),
}

# Modules, classes and functions that were renamed to what the field says, and must not come back.
RETIRED_MODULES = {
    "apart": "interruptible, split_outputs",
    "shown": "windows",
    "telling": "error_translation",
    "versions": "window_merging",
}
RETIRED = {
    "Told": "error_translation",
    "Careful": "Fallback",
    "Loose": "OpenSpan",
    "swallow": "absorb_nested",
    "Left": "ChunkMoments",
    "deviates": "one_pass_variance",
    "_heard": "early_exit",
    "in_turns": "interleave",
    "add_any": "add_reassociable",
    "Fetch": "Prefetch",
    "Over": "ParallelAxis",
    "advise": "set_dtype_support",
    "meet": "define_element",
    "_stand": "set_indices",
    "hopeful": "speculative",
}

# Phrases of a private dialect, each with what the field says instead.
PHRASES = {
    "evaluate, not ask for values": r"\bask(?:s|ed|ing)? for (?:a |the |its |their )?(?:value|element)s?\b(?! of)",
    "values are needed, not asked for": r"\b(?:value|element)s? (?:is|are|that is|that are|was|were) asked for\b",
    "evaluating stores, a tensor is not kept": r"\btensor that is asked for is kept\b",
    "not fused, not run apart": r"\bruns? apart\b",
    "quantile or probability, not a share that is not one": r"\bshares? (?:is|are) not (?:one|some)\b",
    "signature, not kind of arguments": r"\bkinds? of arguments\b",
    "matmuls run their epilogues": r"\bcarry what follows them\b",
    "errors point at a line, they do not say so where you wrote it": r"\bsays so where you wrote it\b",
    "recommended, not unless ... are too many": r"\btake it unless\b",
    "hot expressions, not what is used again": r"\bwhat is used again is compiled\b",
    "evaluated first, in one plan": r"\bnot computed yet are, together, before\b",
    "side effects happen only while recording": r"\beverything else that it does, it does then\b",
    "an unknown name raises": r"\ba name that is wrong is told\b",
    "FAQ, not Questions": r"^# Questions\b",
    "warns once, not told once": r"\btold once\b",
    "evaluated again, not asked again": r"\basked again\b",
    "drops, frees or releases, not lets go of": r"\blets? go of\b",
    "sets a flag, not leaves a mark": r"\bleaves? a mark\b",
    "cached, not kept on disk": r"\bkept on disk\b",
    "written entirely with": r"\bwhose every operation is\b",
    "not a contestant, as it is specialised": r"\bno peer, as its author\b",
    "unless you still reference it, not hold it": r"\bunless you (?:still )?hold\b",
    "interleaved, not in turns": r"\bin turns\b",
    "diagrams of plans, not pictures": r"\bpictures? of (?:a |the )?(?:plan|graph)s?\b",
    "distinguished, not told apart": r"\b(?:told|tells?) apart\b",
    "prefetched, not fetched ahead": r"\bfetche[sd] ahead\b",
}

# Americans of the trade that British texts write as well, and titles of papers.
AMERICAN_TERMS = {"program", "math", "biased", "stories", "writable", "vectorize"}
PAPERS = {
    "modeling",
    "normalization",
    "normalizing",
    "optimization",
    "optimizer",
    "regularization",
    "regularized",
}


def _short(path):
    return str(path.relative_to(ROOT))


class Read(NamedTuple):
    """What a module binds (variables, attributes, arguments, functions, classes), what it defines, its docstrings."""

    names: list[tuple[str, int]]
    definitions: list[tuple[str, int]]
    docstrings: list[str]


@cache
def read(path):
    """Return what is asked of a module, whose tree is walked once."""
    known = Read([], [], [])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            known.names.append((node.id, node.lineno))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            known.names.append((node.attr, node.lineno))
        elif isinstance(node, ast.arg):
            known.names.append((node.arg, node.lineno))
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            known.names.append((node.name, node.lineno))
            known.definitions.append((node.name, node.lineno))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            known.docstrings.append(ast.get_docstring(node) or "")
    return known


def stored_names(name):
    """Yield the places where a name that says nothing is bound."""
    for path in CODE:
        if any(part in _short(path) for part in EMPTY_NAMES[name]):
            continue
        yield from (f"{_short(path)}:{line}" for bound, line in read(path).names if bound == name)


def retired_names():
    """Yield the places of modules, classes and functions with a name that was given up."""
    for path in CODE:
        if path.stem in RETIRED_MODULES:
            yield f"{_short(path)}: {RETIRED_MODULES[path.stem]}"
        for name, line in read(path).definitions:
            if name in RETIRED:
                yield f"{_short(path)}:{line} {name}: {RETIRED[name]}"


@cache
def prose(path):
    """Return what a file says to people, code left out: pages, comments, docstrings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        text = re.sub(r"^(```+|:::+).*?^\1", " ", text, flags=re.DOTALL | re.MULTILINE)
        return re.sub(r"`[^`\n]*`|\]\([^)]*\)|<[^>]*>|\b\w+=", " ", text)
    parts = [
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    ]
    parts += [
        "\n".join(line for line in docstring.splitlines() if ">>>" not in line)
        for docstring in read(path).docstrings
    ]
    return re.sub(r"`[^`]*`", " ", "\n".join(parts))


def places_of(pattern):
    """Yield what a pattern finds in pages, docstrings and comments."""
    for path in (*CODE, *PAGES):
        for match in re.finditer(pattern, prose(path), re.IGNORECASE | re.MULTILINE):
            yield f"{_short(path)}: {match[0]}"


def _dictionary():
    """Return the British spelling of American words, from the dictionary of codespell."""
    data = Path(find_spec("codespell_lib").origin).parent / "data"
    lines = (data / "dictionary_en-GB_to_en-US.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("->") for line in lines]
    return {
        word.strip(): british for british, american in pairs for word in american.split(",") if word
    }


def american_spellings():
    """Yield American words of the prose, with the British ones."""
    british = _dictionary()
    for path in (*CODE, *PAGES):
        for word in re.findall(r"[A-Za-z]+", prose(path)):
            known = word.lower()
            if known in british and known not in AMERICAN_TERMS | PAPERS:
                yield f"{_short(path)}: {word}, British {british[known]}"


def misspelt():
    """Return what codespell finds, with the words that pyproject.toml lets pass."""
    command = [
        sys.executable,
        "-m",
        "codespell_lib",
        "tensorframe",
        "examples",
        "docs",
        "tests",
        "README.md",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def main():
    for name in EMPTY_NAMES:
        for place in stored_names(name):
            sys.stdout.write(f"{name}: {place}\n")
    for place in (*retired_names(), *american_spellings()):
        sys.stdout.write(f"{place}\n")
    for phrase, pattern in PHRASES.items():
        for place in places_of(pattern):
            sys.stdout.write(f"{phrase}: {place}\n")
    sys.stdout.write(misspelt())


if __name__ == "__main__":
    main()
