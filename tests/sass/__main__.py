"""`python -m tests.sass --markdown docs/gpu.md`: every form's machine code on four architectures, as a page."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from tests.sass.disassembly import is_available
from tests.sass.machine_code import ARCHITECTURES, MachineCode, machine_code
from tests.sass.predict import GPUS, LATENCY, in_flight, share_of_bandwidth, threads_at_once
from tests.sass.programs import PROGRAMS, kernels_of

_HEAD = f"""\
# GPU kernels by their machine code

**Predicted, not measured.** No GPU has run these kernels yet. They were compiled by NVRTC, and their machine code
(SASS) was read with NVIDIA's disassembler: what it says of registers, memory accesses and barriers is counted, and the
last column is what follows from it for the part of the memory's bandwidth that a kernel can use.

By Little's law, memory is busy when bandwidth times latency bytes are on their way. The latency under load is taken as
{LATENCY * 1e6:g} us, an assumption. A thread has those bytes in flight that it reads in one turn of its main loop, and
a multiprocessor runs as many threads as registers and shared memory allow. Arithmetic is not looked at, so kernels
with much of it, such as factorisations, are slower than this. Rows that several passes need are held in shared memory,
which leaves room for fewer threads, and read once: what the tables count of them is all that is read. That is for up
to 16,384 elements of float32. Rows of half precision are held as the float32 that is computed with: a thread reads 16
bytes for 32 of memory, so that few are on their way on a B200. Longer rows are read once for all that is reduced,
chunk by chunk, and once more where elements are written; for positions of extremes twice. Scans along rows read each
element once, or twice where a row has chunks; those of columns read memory's lines for single elements, which the last
column does not show. Products of bfloat16, and those of float16 that cuBLAS does not make, run on tensor cores.
`nox -s sass` holds what the tables show.

cuBLAS makes the products of float32 and float64, and a kernel of ours does what follows, such as a bias and an
activation. cublasLt would do some of that in the launch of the product, and is not used. Its result is what was
recorded in one case, a bias of float32: of half precision, the recorded bias is added to rounded products, and
cublasLt's before they are rounded. What its relu makes of NaN is not documented; ours is NaN. Its GELU has the form
0.5 x (1 + tanh(u)): in float32, with NumPy's tanh, that is off by 208 units in the last place at -3, by 4,354 at -4,
and has no correct digit at -5, where `gelu(x, "tanh")` is off by 4, 5 and 22. The bias alone saves one pass over the
result, which is under 1% of the time of a float32 product of 8192 squared (67 TFLOP/s, 4.8 TB/s), and 5% where
`tensor_cores` is set; an activation after it makes that pass anyway.

What only a GPU can show has not been shown: that copies and sums reach 92% of the bandwidth that it measures, softmax
and layer norm 88% and no less than PyTorch's compiler, that a captured graph launches a kernel in 2.5 us, and that
products lose less than 2% of cuBLAS's speed. `python -m tests.benchmarks.gpu --markdown PAGE` first checks that the GPU
computes what NumPy does, and then measures these and the other workloads of a GPU, CuPy and PyTorch beside them, in ten
minutes.
"""
_COLUMNS = (
    "kernel",
    "registers",
    "threads at once",
    "reads",
    "writes",
    "barriers",
    "shuffles",
    "float64 additions an element",
    "in flight",
    "of bandwidth",
)


def main() -> None:
    """Write the page, or print it."""
    parser = argparse.ArgumentParser(prog="python -m tests.sass", description=__doc__)
    parser.add_argument("--markdown", type=Path, help="the file to write")
    parser.add_argument("--architectures", default=",".join(ARCHITECTURES))
    arguments = parser.parse_args()
    if not is_available():
        parser.error("nvdisasm and cuobjdump are missing: pip install -e '.[sass]'")
    page = "\n".join([_HEAD, *_tables(arguments.architectures.split(","))])
    if arguments.markdown is None:
        print(page)
    else:
        arguments.markdown.write_text(page, encoding="utf-8")


def _tables(architectures: list[str]) -> Iterator[str]:
    texts = {name: kernels_of(name) for name in PROGRAMS}
    for architecture in architectures:
        gpu = GPUS[architecture]
        yield f"## {gpu.name} ({architecture})\n"
        yield (
            f"{gpu.bandwidth / 1e12:g} TB/s, {gpu.multiprocessors} multiprocessors: "
            f"{gpu.needed / 1024:.0f} KiB have to be on their way for each.\n"
        )
        yield f"| {' | '.join(_COLUMNS)} |"
        yield "|" + "---|" * len(_COLUMNS)
        for name, kernels in texts.items():
            for number, (kernel, text) in enumerate(kernels.items()):
                title = name if len(kernels) == 1 else f"{name} ({number + 1})"
                yield _row(title, machine_code(kernel, text, architecture), architecture)
        yield ""


def _row(title: str, code: MachineCode, architecture: str) -> str:
    gpu = GPUS[architecture]
    cells = [
        title,
        str(code.registers),
        str(threads_at_once(code, gpu)),
        _widths(code.widths_when_aligned(stores=False)),
        _widths(code.widths_when_aligned(stores=True)),
        str(code.barriers),
        str(code.shuffles),
        f"{code.float64_each:.2g}",
        f"{in_flight(code, gpu) / 1024:.0f} KiB",
        f"{share_of_bandwidth(code, gpu):.0%}",
    ]
    return f"| {' | '.join(cells)} |"


def _widths(widths: list[int]) -> str:
    """Return the accesses of a turn: `2 x 16 B`."""
    counted = {width: widths.count(width) for width in sorted(set(widths), reverse=True)}
    return ", ".join([f"{count} x {width // 8} B" for width, count in counted.items()])


if __name__ == "__main__":
    main()
