"""CUDA C++, which HIP reads too: no header, and half precision as its bits.

Warps have 32 threads in CUDA and 32 or 64 in HIP: shuffles among 32 neighbours work on all of them.
"""

from __future__ import annotations

from tensorframe.codegen.c import Bodies, Dialect, DynamicSharedMemory
from tensorframe.codegen.prelude import helpers
from tensorframe.kernel import ir

# Bytes that groups of a kernel share at most if it declares them.
DECLARED = 48 << 10
TYPES = {
    "bool": "bool",
    "int8": "signed char",  # plain char has no sign on Arm
    "uint8": "unsigned char",
    "int16": "short",
    "uint16": "unsigned short",
    "int32": "int",
    "uint32": "unsigned int",
    "int64": "long long",  # long has 32 bits on Windows
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}
# HIP has a type for half precision, CUDA only in a header that compiling would have to find.
_PRELUDE = """\
#define HELPER static __device__ inline
template <typename To, typename From> HELPER To bits_as(From x) {
    static_assert(sizeof(To) == sizeof(From), "bits of one size");
    To y;
    memcpy(&y, &x, sizeof(y));
    return y;
}
#define as_float32 bits_as<float>
#define as_float64 bits_as<double>
#define as_int8 bits_as<signed char>
#define as_uint8 bits_as<unsigned char>
#define as_int16 bits_as<short>
#define as_uint16 bits_as<unsigned short>
#define as_int32 bits_as<int>
#define as_uint32 bits_as<unsigned int>
#define as_int64 bits_as<long long>
#define as_uint64 bits_as<unsigned long long>
#define FUSED_float32 fma
#define FUSED_float64 fma
#if defined(__HIP__) || defined(__HIPCC__)
#define SHUFFLE(x) __shfl((x), (int)lane, (int)width)
HELPER float float16_of_bits(unsigned short bits) { return (float)bits_as<_Float16>(bits); }
HELPER unsigned short bits_of_float16(float x) { return bits_as<unsigned short>((_Float16)x); }
#else
#define SHUFFLE(x) __shfl_sync(0xffffffffu, (x), (int)lane, (int)width)
HELPER float float16_of_bits(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
HELPER unsigned short bits_of_float16(float x) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return bits;
}
#endif
template <typename T> HELPER T shuffled(T x, unsigned int lane, unsigned int width) {
    if constexpr (sizeof(T) < 4) return (T)SHUFFLE((int)x);
    else return SHUFFLE(x);
}
"""

# rounding takes the processor two instructions where plain C takes fifteen; the other two are in the prelude
_BY_HARDWARE = {
    "round_float16": "HELPER float round_float16(float x) { return float16_of_bits(bits_of_float16(x)); }\n",
    "float16_of_bits": "",
    "bits_of_float16": "",
}
_HELPERS = helpers(TYPES, ("float32", "float64")) | _BY_HARDWARE
# one instruction since Pascal; HIP's compiler finds its own
_HELPERS["dot4_uint32"] = f"""\
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 610
HELPER int dot4_uint32(unsigned int x, unsigned int y) {{ return __dp4a((int)x, (int)y, 0); }}
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 610
{_HELPERS["dot4_uint32"]}#endif
"""

PRELUDE = _PRELUDE + "".join(_HELPERS.values())

_WIDE = "(((unsigned long long){high} << 32) | {low})"
_RESERVED = """
alignas alignof and and_eq asm bitand bitor catch char16_t char32_t class compl constexpr const_cast decltype delete
dynamic_cast explicit export friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private
protected public reinterpret_cast static_assert static_cast template this thread_local throw try typeid typename using
virtual wchar_t xor xor_eq threadIdx blockIdx blockDim gridDim warpSize
"""
_BODIES = Bodies(
    numbers={
        "float32": "__int_as_float((int){low})",
        "float64": f"__longlong_as_double((long long){_WIDE})",
        "int64": f"(long long){_WIDE}",
        "uint64": _WIDE,
    },
    local="{type}*",
    function="static __device__ inline void",
    types={"complex64": "float2", "complex128": "double2"},
    reserved=frozenset(_RESERVED.split()),
)

DIALECT = Dialect(
    name="cuda",
    title="CUDA C++",
    types=TYPES,
    stored=TYPES | {"bool": "unsigned char"},
    suffixes={"uint32": "u", "int64": "ll", "uint64": "ull"},
    prelude=PRELUDE,
    signature=(
        "struct {words} {{ unsigned int at[{count}]; }};\n"
        'extern "C" __global__ void __launch_bounds__({lanes})\n'
        "{name}({operands}, const {words} {argument})"
    ),
    operand="{const}{type}* __restrict__ {name}",
    shared="__shared__ {type} {name}[{count}];",
    barrier="__syncthreads();",
    grid=("(blockIdx.x * blockDim.x + threadIdx.x)", "(gridDim.x * blockDim.x)"),
    groups=("blockIdx.x", "gridDim.x"),
    lane="threadIdx.x",
    vector="struct alignas({bytes}) {name} {{ {type} at[{count}]; }};",
    pointer="{const}{type}*",
    address="unsigned long long",
    subgroup=ir.WARP,
    bodies=_BODIES,
    dynamic_shared=DynamicSharedMemory(
        beyond=DECLARED,
        declaration="extern __shared__ double dynamic_shared[];  // {bytes} bytes",
        part="{type}* const {name} = ({type}*)((char*)dynamic_shared + {first});",
    ),
)
