"""A dialect of kernel text: the C of a chip that does not exist, whose groups have lanes and whose memory has banks.

A real chip's backend would print kernels in it (`print_kernel` in its `Queue.source`), and compile them. Until there is
a chip, `tfr.explain(y, source="abacus_c")` shows what its compiler would be given.
"""

from __future__ import annotations

from tensorframe.extensions import About, Bodies, Dialect

_TYPES = {
    "bool": "bool",
    "int8": "int8_t",
    "uint8": "uint8_t",
    "int16": "int16_t",
    "uint16": "uint16_t",
    "int32": "int32_t",
    "uint32": "uint32_t",
    "int64": "int64_t",
    "uint64": "uint64_t",
    "float32": "float",
    "float64": "double",
}
_PRELUDE = "#include <abacus.h>\n"
_WIDE = "(((uint64_t){high} << 32) | {low})"

abacus_c = Dialect(
    name="abacus_c",
    title="Abacus C",
    types=_TYPES,
    stored=_TYPES | {"bool": "uint8_t"},
    suffixes={"uint32": "u", "int64": "ll", "uint64": "ull"},
    prelude=_PRELUDE,
    signature=(
        "typedef struct {{ uint32_t at[{count}]; }} {words};\n"
        "kernel_of({lanes}) void {name}({operands}, const {words} {argument})"
    ),
    operand="bank {const}{type}* restrict {name}",
    shared="wire {type} {name}[{count}];",
    barrier="wires_wait();",
    grid=("bead()", "beads()"),
    groups=("wire_index()", "wires()"),
    lane="bead_of_wire()",
    vector="typedef struct __attribute__((aligned({bytes}))) {{ {type} at[{count}]; }} {name};",
    pointer="bank {const}{type}*",
    address="uintptr_t",
    bodies=Bodies(
        numbers={
            "float32": "as_float32({low})",
            "float64": f"as_float64({_WIDE})",
            "int64": f"(int64_t){_WIDE}",
            "uint64": _WIDE,
        },
        local="wire {type}*",
        function="static inline void",
        prelude=_PRELUDE,
        reserved=frozenset({"bank", "wire", "bead"}),
    ),
    about=About(interface=(1, 1)),
)
