"""Unfinished files: what a save writes beside its target, locked as long as it lives, so that no dead one stays.

A process that is killed leaves what it had written. Its lock goes with it: the next process that saves into the folder
finds the file unlocked, and removes it. Whoever makes or removes a file looks, with its lock, whether the name still
belongs to it, so no two processes ever mean the same file.
"""

from __future__ import annotations

import errno
import os
import platform
import re
import shutil
import sys
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

if sys.platform != "win32":
    import fcntl

# Of a file or folder in the making, and of a folder that the new one takes the place of.
_TEMPORARY, _REPLACED = "tmp", "old"
_NAME = re.compile(rf"(.+)\.tensorframe-([0-9a-f]{{6}})-[0-9a-f]{{8}}\.({_TEMPORARY}|{_REPLACED})")
# Seconds since it was last written to after which a file of another machine is removed: locks of network file systems
# need not reach from one to the other.
_OF_OTHERS = 86_400.0
# Folders that this process has looked through.
_tidied: set[Path] = set()


def temporary(target: Path) -> Path:
    """Return a new name for what is written before it takes the name of `target`."""
    return _named(target, _TEMPORARY)


def replaced(target: Path) -> Path:
    """Return a new name for the folder that has the name of `target` until the new one takes it."""
    return _named(target, _REPLACED)


def _named(target: Path, kind: str) -> Path:
    return target.with_name(f"{target.name}.tensorframe-{_machine()}-{os.urandom(4).hex()}.{kind}")


def _machine() -> str:
    return sha256(platform.node().encode()).hexdigest()[:6]


def new_file(target: Path) -> tuple[Path, BinaryIO]:
    """Return a new locked file beside a target, which is open, and its name."""
    _tidy(target.parent)
    while True:
        path = temporary(target)
        file = path.open("x+b")
        if _lock(file.fileno()) and _is_at(path, file.fileno()):
            return path, file
        file.close()  # somebody took it for a dead one


def new_folder(target: Path) -> tuple[Path, int | None]:
    """Return a new folder beside a target, and what holds its lock: None where folders cannot be locked."""
    _tidy(target.parent)
    while True:
        path = temporary(target)
        path.mkdir()
        if sys.platform == "win32":
            return path, None
        lock = os.open(path, os.O_RDONLY)
        if _lock(lock) and _is_at(path, lock):
            return path, lock
        os.close(lock)


def _tidy(folder: Path) -> None:
    """Remove what dead processes left in a folder, once in this process."""
    if folder in _tidied:
        return
    _tidied.add(folder)
    remove_dead(folder)


def remove_dead(folder: Path) -> None:
    """Remove what dead processes left in a folder; what cannot be removed stays."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            named = _NAME.fullmatch(entry.name)
            if named is None:
                continue
            target, machine, kind = named.groups()
            if kind == _REPLACED and not os.path.lexists(folder / target):
                continue  # it is all that there is of the user's
            with suppress(OSError):
                if machine == _machine() or time.time() - entry.stat().st_mtime > _OF_OTHERS:
                    _remove_if_dead(Path(entry.path), is_folder=entry.is_dir(follow_symlinks=False))


def _remove_if_dead(path: Path, *, is_folder: bool) -> None:
    if sys.platform == "win32":
        if not is_folder:
            path.unlink()  # an open file cannot be removed there
        return
    lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if _lock(lock, sure=True) and _is_at(path, lock):
            shutil.rmtree(path) if is_folder else path.unlink()
    finally:
        os.close(lock)


def _lock(descriptor: int, *, sure: bool = False) -> bool:
    """Lock an open file or folder until it is closed; return whether nobody else has.

    Where there are no locks nobody has, unless that has to be `sure`.
    """
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return not sure and error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether a name is that of an open file or folder."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
