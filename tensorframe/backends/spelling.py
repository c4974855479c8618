"""Spelling: which device somebody means who calls it by a name that no backend has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

# what people, other libraries and makers call what a device reaches
_MEANING = {
    "gpu": ("auto",),
    "best": ("auto",),
    "default": ("auto",),
    "any": ("auto",),
    "nvidia": ("cuda",),
    "cupy": ("cuda",),
    "ptx": ("cuda",),
    "amd": ("rocm", "opencl"),
    "hip": ("rocm",),
    "intel": ("opencl",),
    "xpu": ("opencl",),
    "cl": ("opencl",),
    "ocl": ("opencl",),
    "pyopencl": ("opencl",),
    "pocl": ("opencl",),
    "webgpu": ("wgpu",),
    "wgpu_py": ("wgpu",),
    "wgsl": ("wgpu",),
    "llvmpipe": ("wgpu",),
    "lavapipe": ("wgpu",),
    "vk": ("vulkan",),
    "mps": ("metal",),
    "apple": ("metal",),
    "directx": ("dx12",),
    "direct3d": ("dx12",),
    "d3d12": ("dx12",),
    "opengl": ("gl",),
    "gles": ("gl",),
    "np": ("numpy",),
    "host": ("cpu",),
    "processor": ("cpu",),
    "x86": ("cpu",),
}
_SAID = {"auto": ", the best device that is here"}
_PARTS = re.compile(r"[\W_]*(?P<word>[a-z][a-z0-9]*?)[\W_]*(?P<index>[0-9]{0,9})[\W_]*\Z", re.ASCII)


def meant(name: object, known: Iterable[str]) -> tuple[str, ...]:
    """Return hints at the devices that a wrong name may mean, of backends that are `known`: `'cuda:1'` for "CUDA 1".

    >>> from tensorframe.backends.spelling import meant
    >>> meant("WebGPU", ["cpu", "wgpu"]), meant("CUDA 1", ["cuda"]), meant("gpu", [])
    (("'wgpu'",), ("'cuda:1'",), ("'auto', the best device that is here",))
    """
    whole = str(name).strip().lower()
    match = _PARTS.match(whole)
    # names may end in digits: these are an index only if the whole means nothing
    spellings = [(whole, ""), (match["word"], match["index"])] if match else [(whole, "")]
    listed = [*known]
    for word, index in spellings:
        if names := _exactly(word, listed):
            return tuple([_hint(device, index) for device in names])
    word, index = spellings[-1]
    near = get_close_matches(word, [*listed, *_MEANING], 1, 0.75)
    return tuple([_hint(device, index) for device in _exactly(near[0], listed)]) if near else ()


def _exactly(word: str, known: list[str]) -> tuple[str, ...]:
    return (word,) if word in known else _MEANING.get(word, ())


def _hint(name: str, index: str) -> str:
    number = int(index or 0)
    indexed = f"{name}:{number}" if number and name != "auto" else name
    return f"{indexed!r}{_SAID.get(name, '')}"
