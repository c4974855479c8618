"""What every form's machine code has to be like, and that what reads it reads it right."""

from __future__ import annotations

import os
import re

import pytest

pytest.importorskip("cupy", reason="NVRTC is called through CuPy")

from tests.sass.disassembly import is_available
from tests.sass.machine_code import ARCHITECTURES, MachineCode, machine_code, parsed
from tests.sass.predict import GPUS, in_flight, share_of_bandwidth, threads_at_once
from tests.sass.programs import PROGRAMS, kernels_of

needs_tools = pytest.mark.skipif(
    not is_available(), reason="nvdisasm and cuobjdump are NVIDIA's wheels: the extra 'sass'"
)
# one in every run of the tests, all of them in `nox -s sass`
LOOKED_AT = ARCHITECTURES if os.environ.get("SASS") == "all" else ("sm_90",)
WHERE = 24 << 10  # bytes that have to be on their way for each multiprocessor


def codes_of(name: str, architecture: str) -> list[MachineCode]:
    kernels = kernels_of(name)
    assert kernels
    return [machine_code(kernel, text, architecture) for kernel, text in kernels.items()]


@pytest.mark.sweep(39)
@needs_tools
@pytest.mark.parametrize("architecture", LOOKED_AT)
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_form(name: str, architecture: str) -> None:
    """No register is spilled, few barriers are met, and enough is on its way by accesses of 16 bytes.

    Positions have 32 bits, and rows that several passes need are read once.
    """
    program = PROGRAMS[name]
    codes = codes_of(name, architecture)
    for code in codes:
        assert code.stack == code.local == code.spills == 0
        assert code.barriers <= program.barriers
        if program.contiguous:
            assert set(code.widths(stores=False)) == set(code.widths(stores=True)) == {128}
            assert in_flight(code, GPUS[architecture]) >= WHERE
            assert (
                share_of_bandwidth(code, GPUS[architecture]) >= 0.7
            )  # float16 to float32 on a B200
    assert sum(code.wide_positions > 0 for code in codes) == program.wide_values
    if program.rows or program.columns:  # partial results, which a second kernel joins, are few
        assert codes[0].float64_each <= 0.25
    if program.rows:
        assert set(codes[0].widths_when_aligned(stores=False)) == {128}
        # memory that rows are held in leaves fewer threads, and they do where they are read once
        assert in_flight(codes[0], GPUS[architecture]) >= WHERE or program.once
        assert share_of_bandwidth(codes[0], GPUS[architecture]) >= program.share
    if program.once:  # two accesses of a thread to each operand, whatever passes there are
        assert codes[0].wide_reads == 2 * len(program.dtypes)


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("IADD3.X R14, R8, c[0x0][0x18c], RZ, P1, !PT", 1),
        ("IMAD.X R5, R14, 0x1, R19, P0", 1),
        ("IADD3.X R14, R8, c[0x0][0x18c], RZ, PT, !PT", 0),
        ("IMAD.X R5, R14, 0x1, R19, PT", 0),
        ("IMAD.X R29, RZ, RZ, R17, P3", 0),
        ("IADD3.X R11, RZ, c[0x0][0x164], RZ, P2, !PT", 0),
        ("IADD3.X R21, PT, PT, RZ, UR5, RZ, P1, !PT", 0),
        ("LEA.HI.X R3, R11, UR13, RZ, 0x1, P4", 0),
        ("IADD3 R11, P2, R11, c[0x0][0x160], RZ", 0),
        ("IADD.64 R20, R14, R8", 1),
        ("MOV R15, RZ; IADD.64 R20, R14, R8", 0),
        ("HFMA2 R15, -RZ, RZ, 0, 0; IADD.64 R20, R14.reuse, UR10", 0),
        ("MOV R15, RZ; MOV R15, R3; IADD.64 R20, R14, R8", 1),
        ("MOV R15, RZ; LDC.64 R14, c[0x0][0x380]; IADD.64 R20, R14, R8", 1),
        ("MOV R15, 0x1; IADD.64 R20, R14, R8", 1),
        ("SEL.64 R8, RZ, 0x1, !P1; IADD.64 R20, R14, R8", 0),
        ("SHF.R.S32.HI R11, RZ, 0x1f, R10; IADD.64 R8, R10, -R8", 1),
        ("IADD.64 R38, R38, 0x400", 0),
        ("MOV R5, RZ; IADD.64 R4, R4, R4; IADD.64 R20, R4, R8", 0),
        ("MOV R5, RZ; IADD.64 R4, R4, R8; IADD.64 R20, R4, R8", 1),
        ("MOV R5, RZ; @P1 BRA L1; MOV R5, R3; BRA L2; IADD.64 R20, R4, R8", 0),
        ("MOV R5, RZ; @P1 BRA L1; MOV R5, R3; IADD.64 R20, R4, R8", 1),
    ],
)
def test_additions_of_64_bits_are_told_from_addresses_of_32_bit_positions(
    text: str, counted: int
) -> None:
    lines = [line.strip() for line in text.split(";")]
    disassembled = "\n".join([f"/*{16 * n:04x}*/ {line} ;" for n, line in enumerate(lines)])
    code, _ = parsed(disassembled)
    assert len(code) == len(lines)
    assert MachineCode(8, 0, 0, 0, code, ()).wide_positions == counted


@needs_tools
@pytest.mark.parametrize("name", ["softmax of the widest rows", "layer norm of very long rows"])
def test_rows_that_no_group_has_memory_for_are_read_twice(name: str) -> None:
    """A kernel reduces chunks of them, a second one joins these, and a third one reads again and writes."""
    reduced, joined, written = codes_of(name, "sm_90")
    assert (reduced.wide_reads, joined.wide_reads, written.wide_reads) == (2, 0, 1)
    assert set(written.widths_when_aligned(stores=True)) == {128}


@needs_tools
@pytest.mark.parametrize("architecture", LOOKED_AT)
@pytest.mark.parametrize("name", ["cumulative sum of rows", "cumulative sum of long rows"])
def test_scans_read_and_write_all_elements_by_16_bytes(name: str, architecture: str) -> None:
    """Each of them once in a kernel, and threads meet twice for eight elements of each."""
    codes = codes_of(name, architecture)
    assert all(code.barriers == 2 for code in codes)
    for code in (codes[0], codes[-1]):
        assert code.widths_when_aligned(stores=False) == [128, 128]
        assert code.wide_reads == 2
        assert in_flight(code, GPUS[architecture]) >= WHERE
    stores = [one.width for one in codes[-1].instructions if one.is_store]
    assert stores.count(128) == 2


PRODUCTS = ("matmul", "matmul, transposed")


@needs_tools
@pytest.mark.parametrize("architecture", LOOKED_AT)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_read_all_memory_by_16_bytes(name: str, architecture: str) -> None:
    """That of groups, and that of the device where elements are aligned, whichever way factors lie."""
    (code,) = codes_of(name, architecture)
    # the assembler waits by reads that go nowhere
    read = [one for one in code.instructions if one.op == "LDS" and "RZ" not in one.operands]
    assert {one.name for one in read} == {"LDS.128"}
    assert code.widths_when_aligned(stores=False) == [128, 128]
    assert code.stack == code.local == code.spills == 0
    assert threads_at_once(code, GPUS[architecture]) >= 1024


@needs_tools
@pytest.mark.parametrize("architecture", LOOKED_AT)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_read_ahead(name: str, architecture: str) -> None:
    """Of float32: the next tiles are on their way to shared memory before these are multiplied."""
    (code,) = codes_of(name, architecture)
    ops = [one.op for one in code.instructions]
    first, last = [index for index, op in enumerate(ops) if op == "BAR"]
    turn = ops[first:last]
    read = max(index for index, op in enumerate(turn) if op == "LDGSTS")
    assert turn[read:].count("FFMA") == turn.count("FFMA") >= 128


@needs_tools
@pytest.mark.parametrize("architecture", LOOKED_AT)
def test_products_of_half_precision_are_made_by_tensor_cores(architecture: str) -> None:
    """All accumulators stay in registers, and the next elements are copied while these are multiplied."""
    (code,) = codes_of("matmul, bfloat16", architecture)
    multiplied = [one for one in code.instructions if one.op == "HMMA"]
    assert len(multiplied) % 16 == 0  # four by four tiles of a warp
    assert {one.name.partition(".F32")[0] for one in multiplied} == {"HMMA.16816"}
    assert code.count("LDSM") <= len(multiplied)
    assert code.count("LDGSTS") >= 4
    assert code.barriers <= 3
    assert threads_at_once(code, GPUS[architecture]) >= 512


@needs_tools
def test_wide_accesses_are_seen_and_narrow_ones_too() -> None:
    """Of what reads it: the same kernel without wide accesses has narrow ones, and less on its way."""
    texts = kernels_of("scale")
    ((name, text),) = texts.items()
    narrow = re.sub(r"\) != 0 \? 0 : stop / 8;", ") != 0 ? 0 : 0;", text)
    assert narrow != text
    wide, single = machine_code(name, text, "sm_90"), machine_code(name, narrow, "sm_90")
    assert wide.widths(stores=False) == [128, 128]
    assert set(single.widths(stores=False)) == {32}
    assert single.bytes_read < wide.bytes_read


@needs_tools
def test_spills_and_barriers_are_seen() -> None:
    source = """extern "C" __global__ void __launch_bounds__(1024, 2) k(float* x, int n) {
        float a[64];
        for (int i = 0; i < 64; ++i) a[i] = x[i * n];
        __syncthreads();
        for (int i = 0; i < 64; ++i) x[i * n] = a[(i * n) % 64];
    }"""
    code = machine_code("k", source, "sm_90")
    assert code.stack > 0
    assert code.spills > 0
    assert code.barriers == 1
