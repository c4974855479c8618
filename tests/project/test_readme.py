"""The README's two commands are there, CI runs the second, and what they name exists."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def section(heading):
    (text,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    return text


def command(heading):
    (block,) = re.findall(r"^```sh\n(.*?)^```$", section(heading), re.MULTILINE | re.DOTALL)
    return block.strip()


@pytest.mark.parametrize("heading", ["Run it", "Test it"])
def test_each_heading_has_one_command_on_one_line(heading):
    assert "\n" not in command(heading)


@pytest.mark.parametrize("heading", ["Run it", "Test it"])
def test_commands_install_only_into_the_checkout(heading):
    first, *others = command(heading).split(" && ")
    assert first == "python3 -m venv .venv"
    assert all(step.startswith(".venv/bin/python -m ") for step in others)


def test_extras_that_the_commands_install_are_declared(metadata):
    asked = re.findall(r"\.\[(\w+)\]", command("Run it") + command("Test it"))
    assert len(asked) == 2
    assert set(asked) <= set(metadata["project"]["optional-dependencies"])


def test_run_command_ends_in_a_module_that_exists():
    words = shlex.split(command("Run it"))
    module = words[words.index("-m", len(words) - 2) + 1]
    path = ROOT / module.replace(".", "/")
    assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


def test_sessions_of_the_test_command_exist():
    words = shlex.split(command("Test it"))
    asked = words[words.index("-s") + 1 :]
    assert asked
    noxfile = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    defined = re.findall(r"^@nox\.session\ndef (\w+)\(", noxfile, re.MULTILINE)
    assert set(asked) <= set(defined)


def test_each_command_is_there_once():
    chains = re.findall(r"^python3 -m venv .*$", README, re.MULTILINE)
    assert chains == [command("Run it"), command("Test it")]


@pytest.mark.parametrize("heading", ["Run it", "Test it"])
def test_model_of_the_command_is_the_one_of_the_nox_sessions(heading):
    (model,) = re.findall(r"--no-deps (\S+)", command(heading))
    assert f'"{model}"' in (ROOT / "noxfile.py").read_text(encoding="utf-8")


def test_speed_is_told_by_the_chart_alone():
    """The chart is drawn from the page of a run, with its date and machine; a figure in a sentence would grow stale."""
    prose = re.sub(r"^```.*?^```", "", README, flags=re.MULTILINE | re.DOTALL)
    figures = r"\b[\d.]+ ?(?:ns|us|\u00b5s|ms|s|[GT]B/s|[GT]FLOPS|x|times|%|percent)\b"
    assert re.findall(figures, prose) == []


def test_links_to_files_lead_somewhere():
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)[^)]*\)", README)
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


@pytest.fixture
def clone(tmp_path):
    """A checkout with .ci/run and a README whose test command the test chooses."""

    def make(test_command):
        (tmp_path / ".ci").mkdir()
        script = tmp_path / ".ci" / "run"
        script.write_bytes((ROOT / ".ci" / "run").read_bytes())
        script.chmod(0o755)
        page = README.replace(command("Test it"), test_command)
        assert page != README
        (tmp_path / "README.md").write_text(page, encoding="utf-8")
        return subprocess.run([script], capture_output=True, text=True, check=False, cwd="/")

    return make


CLOSING = "===== 3 passed in 0.12s ====="


def test_ci_runs_the_test_command_and_ends_with_the_closing_line(clone):
    done = clone(f"echo 'in' $(basename \"$PWD\") && echo '{CLOSING}' && echo 'nox > done'")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == [CLOSING, "nox > done", CLOSING]


def test_ci_fails_when_the_command_fails_and_still_says_the_closing_line(clone):
    done = clone(f"echo '{CLOSING}' && exit 3")
    assert done.returncode != 0
    assert done.stdout.splitlines()[-1] == CLOSING


def test_ci_fails_when_pytest_never_finished(clone):
    done = clone("echo started")
    assert done.returncode != 0
    assert "closing line" in done.stderr
