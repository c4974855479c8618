"""OpenCL C 1.2: what every device has, with double precision and shuffles where the device has them."""

from __future__ import annotations

from tensorframe.codegen.c_dialect import Bodies, Dialect
from tensorframe.codegen.prelude import helpers

TYPES = {
    "bool": "bool",
    "int8": "char",
    "uint8": "uchar",
    "int16": "short",
    "uint16": "ushort",
    "int32": "int",
    "uint32": "uint",
    "int64": "long",
    "uint64": "ulong",
    "float32": "float",
    "float64": "double",
}
_PRELUDE = """\
#pragma OPENCL FP_CONTRACT OFF
#define HELPER static inline
#define as_float32 as_float
#define as_int32 as_int
#define as_uint32 as_uint
#define as_int64 as_long
#define as_uint64 as_ulong
#ifdef FP_FAST_FMAF
#define FUSED_float32 fma
#else
#define FUSED_float32(x, y, z) ((x) * (y) + (z))
#endif
"""
# What has the extension says so by this macro, or the language's own; elsewhere bytes are multiplied one by one.
_BYTE_BY_BYTE = helpers(TYPES, ())["dot4_uint32"]
_DOT = f"""\
#if defined(__opencl_c_integer_dot_product_input_4x8bit_packed)
HELPER int dot4_uint32(uint x, uint y) {{ return dot_4x8packed_ss_int(x, y); }}
#else
{_BYTE_BY_BYTE}#endif
"""
_DOUBLE = """\
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define as_float64 as_double
#ifdef FP_FAST_FMA
#define FUSED_float64 fma
#else
#define FUSED_float64(x, y, z) ((x) * (y) + (z))
#endif
"""
# Values that a thread of the same subgroup has. Booleans, of which there are no shuffles, are integers meanwhile.
_SHUFFLED = """\
#pragma OPENCL EXTENSION cl_khr_subgroups : enable
#pragma OPENCL EXTENSION cl_khr_subgroup_shuffle : enable
#define shuffled(x, lane, width) \\
    sub_group_shuffle(+(x), (get_sub_group_local_id() & ~((width) - 1u)) + (lane))
"""
_WIDE = "(((ulong){high} << 32) | {low})"
_HALF = ("vload_half({at}, {buffer})", "vstore_half({value}, {at}, {buffer})")
_RESERVED = """
half uchar ushort uint ulong size_t ptrdiff_t intptr_t uintptr_t quad complex imaginary pipe kernel global local
constant private generic read_only write_only read_write event_t image1d_t image2d_t image3d_t sampler_t barrier
"""
_BODIES = Bodies(
    numbers={
        "float32": "as_float({low})",
        "float64": f"as_double({_WIDE})",
        "int64": f"as_long({_WIDE})",
        "uint64": _WIDE,
    },
    local="__local {type}*",
    function="static inline void",
    prelude="""\
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#pragma OPENCL FP_CONTRACT OFF
""",
    types={"float64": "double", "bool": "uchar", "complex64": "float2", "complex128": "double2"},
    reserved=frozenset(_RESERVED.split()),
)


def dialect(*, double: bool, subgroup: int = 0, processor: bool = False) -> Dialect:
    """Return OpenCL C as a device speaks it that has, or has not, double precision.

    Neighbouring threads, `subgroup` of them, read each other's values by shuffles. On a `processor` half precision is
    converted by its bits: PoCL calls a function for each element, which takes four times as long.
    """
    reals = ("float32", "float64") if double else ("float32",)
    return Dialect(
        name="opencl",
        title="OpenCL C",
        types=TYPES,
        stored=TYPES | {"bool": "uchar"} | ({} if processor else {"float16": "half"}),
        suffixes={"uint32": "u", "int64": "l", "uint64": "ul"},
        prelude=_PRELUDE + (_DOUBLE if double else ""),
        helpers=helpers(TYPES, reals) | {"dot4_uint32": _DOT, "shuffled": _SHUFFLED},
        signature=(
            "typedef struct {{ uint at[{count}]; }} {words};\n"
            "__kernel __attribute__((reqd_work_group_size({lanes}, 1, 1)))\n"
            "void {name}({operands}, const {words} {argument})"
        ),
        operand="__global {const}{type}* restrict {name}",
        shared="__local {type} {name}[{count}];",
        barrier="barrier(CLK_LOCAL_MEM_FENCE);",
        grid=("get_global_id(0)", "get_global_size(0)"),
        groups=("get_group_id(0)", "get_num_groups(0)"),
        lane="get_local_id(0)",
        vector="typedef struct __attribute__((aligned({bytes}))) {{ {type} at[{count}]; }} {name};",
        pointer="__global {const}{type}*",
        address="size_t",
        narrow={} if processor else {"float16": _HALF},
        subgroup=subgroup,
        bodies=_BODIES,
        vectorizes_threads=processor,
    )
