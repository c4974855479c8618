"""CUDA C++, which HIP reads too: no header, and half precision as its bits.

Warps have 32 threads in CUDA and 32 or 64 in HIP: shuffles among 32 neighbours work on all of them.
"""

from __future__ import annotations

from tensorframe.codegen.c_dialect import Bodies, Dialect, DynamicSharedMemory
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

# Copies of 16 bytes to shared memory that go on while threads compute, since Ampere. What is not aligned is copied
# by elements, by the same instruction where it copies so few bytes.
_ADDRESS = """\
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
HELPER unsigned int shared_address(const void* x) { return (unsigned int)__cvta_generic_to_shared(x); }
#endif
"""
_COPIES = """\
template <typename T> HELPER void copy_neighbours(T* to, const T* from, unsigned int valid) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if ((unsigned long long)from % 16u == 0u) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
            :: "r"(shared_address(to)), "l"(from), "r"((unsigned int)sizeof(T) * valid) : "memory");
        return;
    }
    if constexpr (sizeof(T) >= 4) {
        #pragma unroll
        for (unsigned int i = 0; i < 16u / sizeof(T); ++i)
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                :: "r"(shared_address(to + i)), "l"(from + i), "n"((int)sizeof(T)),
                   "r"(i < valid ? (unsigned int)sizeof(T) : 0u) : "memory");
        return;
    }
#endif
    for (unsigned int i = 0; i < 16u / sizeof(T); ++i) to[i] = i < valid ? from[i] : (T)0;
}
HELPER void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
"""

# Products of tiles by tensor cores: instructions of NVIDIA's since Ampere, as the PTX manual lays them out under
# "Warp-level matrix instructions". Elsewhere each thread reads what it needs; HIP is not asked for them.
_TENSOR_CORES = """\
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
struct left_tile {
    unsigned int at[4];
    __device__ left_tile(const unsigned short* x, unsigned int pitch, bool inside) {
        const unsigned int lane = threadIdx.x % 32u, line = lane % 8u, odd = lane / 8u % 2u, half = lane / 16u;
        if (inside) asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
            : "=r"(at[0]), "=r"(at[1]), "=r"(at[2]), "=r"(at[3])
            : "r"(shared_address(x + (8u * odd + line) * pitch + 8u * half)) : "memory");
        else asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
            : "=r"(at[0]), "=r"(at[1]), "=r"(at[2]), "=r"(at[3])
            : "r"(shared_address(x + (8u * half + line) * pitch + 8u * odd)) : "memory");
    }
};
struct right_tile {
    unsigned int at[2];
    __device__ right_tile(const unsigned short* x, unsigned int pitch, bool inside) {
        const unsigned int line = threadIdx.x % 8u, odd = threadIdx.x / 8u % 2u;
        if (inside) asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
            : "=r"(at[0]), "=r"(at[1]) : "r"(shared_address(x + line * pitch + 8u * odd)) : "memory");
        else asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
            : "=r"(at[0]), "=r"(at[1]) : "r"(shared_address(x + (8u * odd + line) * pitch)) : "memory");
    }
};
#define MULTIPLY_TILES(name, kind) \\
    HELPER void multiply_tiles_##name( \\
        float& a, float& b, float& c, float& d, const left_tile& x, const right_tile& y) { \\
        asm("mma.sync.aligned.m16n8k16.row.col.f32." kind "." kind ".f32 " \\
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \\
            : "+f"(a), "+f"(b), "+f"(c), "+f"(d) \\
            : "r"(x.at[0]), "r"(x.at[1]), "r"(x.at[2]), "r"(x.at[3]), "r"(y.at[0]), "r"(y.at[1])); \\
    }
MULTIPLY_TILES(float16, "f16")
MULTIPLY_TILES(bfloat16, "bf16")
#else
struct tile_in_memory {
    const unsigned short* x;
    unsigned int pitch;
    bool inside;
    __device__ tile_in_memory(const unsigned short* x, unsigned int pitch, bool inside)
        : x(x), pitch(pitch), inside(inside) {}
    __device__ unsigned short at(unsigned int line, unsigned int inner) const {
        return inside ? x[line * pitch + inner] : x[inner * pitch + line];
    }
};
typedef tile_in_memory left_tile;
typedef tile_in_memory right_tile;
#define MULTIPLY_TILES(name) \\
    HELPER void multiply_tiles_##name( \\
        float& a, float& b, float& c, float& d, const left_tile& x, const right_tile& y) { \\
        const unsigned int lane = threadIdx.x % 32u, row = lane / 4u, column = lane % 4u * 2u; \\
        for (unsigned int inner = 0; inner < 16u; ++inner) { \\
            const float upper = name##_of_bits(x.at(row, inner)), lower = name##_of_bits(x.at(row + 8u, inner)); \\
            const float first = name##_of_bits(y.at(column, inner)), last = name##_of_bits(y.at(column + 1u, inner)); \\
            a += upper * first; b += upper * last; c += lower * first; d += lower * last; \\
        } \\
    }
MULTIPLY_TILES(float16)
MULTIPLY_TILES(bfloat16)
#endif
"""

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
        'extern "C" __global__ void __launch_bounds__({lanes}{occupancy})\n'
        "{name}({operands}, const {words} {argument})"
    ),
    operand="{const}{type}* __restrict__ {name}",
    shared="alignas(16) __shared__ {type} {name}[{count}];",
    barrier="__syncthreads();",
    grid=("(blockIdx.x * blockDim.x + threadIdx.x)", "(gridDim.x * blockDim.x)"),
    groups=("blockIdx.x", "gridDim.x"),
    lane="threadIdx.x",
    vector="struct alignas({bytes}) {name} {{ {type} at[{count}]; }};",
    pointer="{const}{type}*",
    address="unsigned long long",
    subgroup=ir.WARP,
    copied="wait_for_copies();",
    helpers={"shared_address": _ADDRESS, "wait_for_copies": _COPIES, "left_tile": _TENSOR_CORES},
    bodies=_BODIES,
    # HIP counts warps of each of four units instead, which are as many for 256 threads
    occupancy=", {groups}",
    dynamic_shared=DynamicSharedMemory(
        beyond=DECLARED,
        declaration="extern __shared__ double dynamic_shared[];  // {bytes} bytes",
        part="{type}* const {name} = ({type}*)((char*)dynamic_shared + {first});",
    ),
)
