"""Checks of storage: every dtype that a device holds, in every layout, comes back as it was, and shares nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tensorframe.dtypes import DType
from tensorframe.testing.conformance.subject import Array, Check, Subject, expect, same_bits, sample

LARGE = (
    1_000_003  # elements: no multiple of what devices like, and more than one page of everything
)

LAYOUTS: dict[str, Callable[[DType], Array]] = {
    "no axes": lambda dtype: sample(dtype, ()),
    "one element": lambda dtype: sample(dtype, (1,)),
    "no elements": lambda dtype: sample(dtype, (3, 0, 2)),
    "an odd length": lambda dtype: sample(dtype, (7,)),
    "rows and columns": lambda dtype: sample(dtype, (3, 4, 5)),
    "a transposed array": lambda dtype: sample(dtype, (3, 4, 5)).T,
    "a reversed array": lambda dtype: sample(dtype, (3, 4))[::-1, ::-1],
    "every other element": lambda dtype: sample(dtype, (5, 9))[1:, ::2],
    "a broadcast array": lambda dtype: np.broadcast_to(sample(dtype, (3, 1)), (3, 4)),
    "a large array": lambda dtype: sample(dtype, (LARGE,)),
}


def checks(subject: Subject) -> list[Check]:
    """Return the checks of storage."""
    checks = [
        subject.check(
            "storage", f"{dtype} comes back: {layout}", partial(_trip, subject, make, dtype)
        )
        for dtype in subject.dtypes()
        for layout, make in LAYOUTS.items()
    ]
    if subject.capabilities.host_memory:
        return checks  # there the array is the storage
    return [
        *checks,
        subject.check("storage", "an upload shares no memory", partial(_upload_shares, subject)),
        subject.check("storage", "a download shares no memory", partial(_download_shares, subject)),
    ]


def _trip(subject: Subject, make: Callable[[DType], Array], dtype: DType) -> None:
    backend, array = subject.backend, make(dtype)
    storage = backend.upload(subject.device, array)
    told = (storage.device, storage.dtype, storage.shape)
    expect(told == (subject.device, dtype, array.shape), f"upload gives storage of {told}")
    expect(storage.nbytes == array.nbytes, f"nbytes is {storage.nbytes}, not {array.nbytes}")
    # a program gives handles, so a handle alone has to tell the layout
    for stored in (storage, backend.wrap(subject.device, storage.handle)):
        downloaded = backend.download(stored)
        expect(isinstance(downloaded, np.ndarray), f"download gives {type(downloaded).__name__}")
        kind = f"{downloaded.dtype}{list(downloaded.shape)}"
        wanted = f"{dtype}{list(array.shape)}"
        expect(kind == wanted, f"download gives {kind}, not {wanted}")
        expect(same_bits(downloaded, array), "other bits come back")


def _upload_shares(subject: Subject) -> None:
    for dtype in subject.dtypes():
        array = np.ones((4, 5), dtype)
        storage = subject.backend.upload(subject.device, array)
        array[...] = 0
        downloaded = subject.backend.download(storage)
        expect(
            bool((downloaded == 1).all()), "changing an array after its upload changes the storage"
        )


def _download_shares(subject: Subject) -> None:
    for dtype in subject.dtypes():
        storage = subject.backend.upload(subject.device, np.ones((4, 5), dtype))
        downloaded = subject.backend.download(storage)
        if downloaded.flags.writeable:
            downloaded[...] = 0
        again = subject.backend.download(storage)
        expect(bool((again == 1).all()), "changing a download changes the storage")
