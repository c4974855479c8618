"""Options: seen by their own thread only, checked, and read from the environment."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

import tensorframe as tfr


def test_an_override_ends_with_its_block_and_stays_in_its_thread() -> None:
    seen: list[bool] = []
    with tfr.config.override(fuse=False, block_bytes=1000) as options:
        other = threading.Thread(target=lambda: seen.append(tfr.config.get().fuse))
        other.start()
        other.join()
        assert options is tfr.config.get()
        assert not tfr.config.get().fuse
    assert seen == [True]
    assert tfr.config.get().fuse


def test_an_override_ends_with_an_error_too() -> None:
    with pytest.raises(KeyError), tfr.config.override(fuse=False):
        raise KeyError
    assert tfr.config.get().fuse


@pytest.mark.parametrize(
    "wrong",
    [{"fusion": True}, {"fuse": 1}, {"block_bytes": -1}, {"block_bytes": True}, {"threads": 1.5}],
)
def test_a_wrong_option_is_refused_and_changes_nothing(wrong: dict[str, object]) -> None:
    before = tfr.config.get()
    with pytest.raises(tfr.errors.ArgumentError):
        tfr.config.configure(**wrong)
    with pytest.raises(tfr.errors.ArgumentError), tfr.config.override(**wrong):
        pass
    assert tfr.config.get() == before


def test_a_transfer_policy_is_one_of_three() -> None:
    with pytest.raises(tfr.errors.ArgumentError, match="'allow', 'warn' or 'error'"):
        tfr.config.configure(transfer_policy="forbid")


def test_every_option_is_described() -> None:
    text = tfr.config.describe()
    assert "block_bytes = 262144: Bytes of each operand" in text
    assert len(text.splitlines()) == len(tfr.config.Options.__dataclass_fields__)


def from_environment(**variables: str) -> subprocess.CompletedProcess[str]:
    program = "import tensorframe as tfr; o = tfr.config.get(); print(o.fuse, o.block_bytes)"
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_environment_sets_options() -> None:
    found = from_environment(TENSORFRAME_FUSE="off", TENSORFRAME_BLOCK_BYTES="4096")
    assert found.stdout.split() == ["False", "4096"]


def test_a_wrong_value_in_the_environment_says_which() -> None:
    found = from_environment(TENSORFRAME_FUSE="maybe")
    assert found.returncode != 0
    assert "option fuse is a" in found.stderr
