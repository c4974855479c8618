"""Sessions of nox for some of the tests run all cases of their sweeps, of which `tests` runs a part."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SESSIONS = (ROOT / "noxfile.py").read_text(encoding="utf-8").split("\n@nox.session")[1:]
NAMED = [
    (session, path) for session in SESSIONS for path in re.findall(r'"(tests/[\w/.]+)"', session)
]


def name_of(session):
    return re.search(r"def (\w+)", session)[1]


@pytest.mark.parametrize(
    ("session", "path"), NAMED, ids=[f"{name_of(session)} {path}" for session, path in NAMED]
)
def test_a_session_leaves_out_no_case_of_a_sweep(session, path):
    folder = ROOT / path
    files = [folder] if folder.is_file() else sorted(folder.rglob("test_*.py"))
    assert files
    if any("@pytest.mark.sweep" in file.read_text(encoding="utf-8") for file in files):
        assert 'SWEEPS="all"' in session
