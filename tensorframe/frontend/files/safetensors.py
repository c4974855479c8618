"""The safetensors format: a JSON header that says where each tensor lies, then the tensors.

Source of the layout and of its limits: the format's page, https://github.com/huggingface/safetensors#format.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from tensorframe import dtypes
from tensorframe.dtypes import DType
from tensorframe.errors import DTypeError
from tensorframe.files.access import broken
from tensorframe.frontend.files.segment import Segment, Stamp, check_claim, is_shape, open_to_read
from tensorframe.frontend.files.write import FileSink, new_file
from tensorframe.graph.shape import Shape

MAX_HEADER = 100_000_000  # bytes; the format's own limit
METADATA = "__metadata__"

DTYPES: dict[str, DType] = {how.file: dtype for dtype, how in dtypes.FORMAT.items() if how.file}
CODES = {dtype: code for code, dtype in DTYPES.items()}


def read_index(path: str) -> tuple[dict[str, Segment], dict[str, str]]:
    """Return where each tensor lies, and the metadata; only the header is read."""
    with open_to_read(path) as file:
        stamp = Stamp.of(file)
        header, start = _read_header(file, stamp.size, path)
    metadata = _checked_metadata(header.pop(METADATA, {}), path)
    segments = {name: _segment(path, stamp, start, name, entry) for name, entry in header.items()}
    _check_cover(segments.values(), start, stamp.size, path)
    return segments, metadata


def read_shards(path: str) -> dict[str, Segment]:
    """Return where each tensor of several files lies, as the index of them beside them says."""
    with open_to_read(path) as file:
        text = file.read(MAX_HEADER + 1)
    if len(text) > MAX_HEADER:
        raise broken(path, f"not an index of safetensors files: it has over {MAX_HEADER} bytes")
    try:
        index = json.loads(text.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise broken(path, f"the index is not valid JSON: {error}") from error
    files = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(files, dict):
        raise broken(path, "the index has no weight_map, which names the file of each tensor")
    folder = Path(path).parent
    shards: dict[str, dict[str, Segment]] = {}
    for name, file_name in files.items():
        # a name alone: an index that came from elsewhere has no business in other folders
        if not isinstance(file_name, str) or not file_name or Path(file_name).name != file_name:
            raise broken(
                path, f"{name!r} is in {file_name!r:.80}, which is no file beside the index"
            )
        if file_name not in shards:
            shards[file_name] = read_index(str(folder / file_name))[0]
        if name not in shards[file_name]:
            raise broken(path, f"{name!r} should be in {file_name}, and is not")
    return {name: shards[file_name][name] for name, file_name in files.items()}


def _read_header(file: IO[bytes], size: int, path: str) -> tuple[dict[str, Any], int]:
    """Return the JSON object and the position after it."""
    prefix = file.read(8)
    if len(prefix) < 8:
        raise broken(path, f"not a safetensors file: {size} bytes, and the header's length takes 8")
    length = int.from_bytes(prefix, "little")
    if length > MAX_HEADER or length < 2:
        hint = "is it another format under this name?"
        problem = f"the header's length is {length}; 2 to {MAX_HEADER} bytes are possible"
        raise broken(path, f"not a safetensors file: {problem}", hint)
    if 8 + length > size:
        raise broken(path, f"truncated: the header has {length} bytes, the file {size}")
    text = file.read(length)
    if not text.startswith(b"{"):
        raise broken(path, f"not a safetensors file: the header starts with {text[:8]!r}, not {{")
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise broken(path, f"the header is not valid JSON: {error}") from error
    return header, 8 + length


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        counts = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise ValueError(f"the key {twice!r} appears twice")
    return values


def _checked_metadata(metadata: Any, path: str) -> dict[str, str]:
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str) for value in metadata.values()
    ):
        raise broken(path, f"{METADATA} must map strings to strings, got {metadata!r:.80}")
    return metadata


def _segment(path: str, stamp: Stamp, start: int, name: str, entry: Any) -> Segment:
    """Return one entry of the header, checked by itself."""
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        problem = f"{name!r} must have dtype, shape and data_offsets, got {entry!r:.80}"
        raise broken(path, problem)
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not isinstance(shape, list) or not is_shape(shape):
        raise broken(path, f"{name!r} has the impossible shape {shape!r:.80}")
    if not _is_range(offsets):
        raise broken(path, f"{name!r} has the data_offsets {offsets!r:.80}, not [begin, end]")
    dtype = DTYPES.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
    if dtype is None:
        known = "one of " + ", ".join(DTYPES)
        raise broken(path, f"{name!r} has the dtype {entry['dtype']!r:.80}", known)
    wanted, held = math.prod(shape) * dtype.itemsize, offsets[1] - offsets[0]
    if wanted != held:
        problem = f"{name!r}, {dtype} of shape {tuple(shape)}, needs {wanted} bytes but has {held}"
        raise broken(path, problem)
    check_claim(wanted, path, repr(name))
    return Segment(path, name, stamp, start + offsets[0], tuple(shape), dtype)


def _is_range(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(offset) is int for offset in value)
        and 0 <= value[0] <= value[1]
    )


def _check_cover(segments: Iterable[Segment], start: int, size: int, path: str) -> None:
    """Raise FileFormatError unless the tensors fill the rest of the file, each byte once."""
    position = start
    for segment in sorted(segments, key=lambda entry: (entry.offset, math.prod(entry.shape))):
        if segment.offset != position:
            relation = "overlaps" if segment.offset < position else "leaves a hole after"
            raise broken(path, f"{segment.name!r} {relation} the tensor before it")
        position += math.prod(segment.shape) * segment.stored.itemsize
    if position > size:
        problem = f"the tensors end at byte {position}, the file at {size}"
        raise broken(path, f"truncated: {problem}", "fetch or write the file again")
    if position < size:
        raise broken(path, f"{size - position} bytes after the last tensor belong to none")


def sinks(
    path: str, tensors: Mapping[str, tuple[Shape, DType]], metadata: Mapping[str, str]
) -> list[FileSink]:
    """Return the sinks of tensors in a new file: names as given, elements by falling item size, so each is aligned."""
    header: dict[str, Any] = {METADATA: dict(metadata)} if metadata else {}
    header |= {name: {} for name in tensors}
    position = 0
    places = {}
    for name in sorted(tensors, key=lambda name: -tensors[name][1].itemsize):
        shape, dtype = tensors[name]
        end = position + math.prod(shape) * dtype.itemsize
        header[name] = {
            "dtype": _code(name, dtype),
            "shape": list(shape),
            "data_offsets": [position, end],
        }
        places[name] = (position, shape, dtype.itemsize)
        position = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return new_file(
        path, len(text).to_bytes(8, "little") + text, [places[name] for name in tensors]
    )


def _code(name: str, dtype: DType) -> str:
    if dtype not in CODES:
        raise DTypeError(
            f"save: safetensors files cannot hold {dtype}, the dtype of {name!r}",
            suggestions=("a path that ends in .npz", "x.astype(tfr.complex64)"),
        )
    return CODES[dtype]
