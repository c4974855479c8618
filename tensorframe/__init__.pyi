"""Written by `python -m tensorframe.testing.stubs`; do not edit."""

from tensorframe import dtypes as dtypes
from tensorframe import errors as errors
from tensorframe.backends.registry import use_backend as use_backend
from tensorframe.dtypes import bfloat16 as bfloat16
from tensorframe.dtypes import bool_ as bool_
from tensorframe.dtypes import complex128 as complex128
from tensorframe.dtypes import complex64 as complex64
from tensorframe.dtypes import float16 as float16
from tensorframe.dtypes import float32 as float32
from tensorframe.dtypes import float64 as float64
from tensorframe.dtypes import get_default_dtype as get_default_dtype
from tensorframe.dtypes import int16 as int16
from tensorframe.dtypes import int32 as int32
from tensorframe.dtypes import int64 as int64
from tensorframe.dtypes import int8 as int8
from tensorframe.dtypes import set_default_dtype as set_default_dtype
from tensorframe.dtypes import uint16 as uint16
from tensorframe.dtypes import uint32 as uint32
from tensorframe.dtypes import uint64 as uint64
from tensorframe.dtypes import uint8 as uint8
from tensorframe.frontend.computing import compute as compute
from tensorframe.frontend.constants import e as e
from tensorframe.frontend.constants import inf as inf
from tensorframe.frontend.constants import nan as nan
from tensorframe.frontend.constants import newaxis as newaxis
from tensorframe.frontend.constants import pi as pi
from tensorframe.frontend.contractions import cross as cross
from tensorframe.frontend.contractions import dot as dot
from tensorframe.frontend.contractions import inner as inner
from tensorframe.frontend.contractions import kron as kron
from tensorframe.frontend.contractions import matmul as matmul
from tensorframe.frontend.contractions import matrix_transpose as matrix_transpose
from tensorframe.frontend.contractions import outer as outer
from tensorframe.frontend.contractions import tensordot as tensordot
from tensorframe.frontend.contractions import vdot as vdot
from tensorframe.frontend.contractions import vecdot as vecdot
from tensorframe.frontend.einsum import einsum as einsum
from tensorframe.frontend.io import load as load
from tensorframe.frontend.io import load_metadata as load_metadata
from tensorframe.frontend.io import save as save
from tensorframe.frontend.methods import Operand
from tensorframe.frontend.namespace import __array_api_version__ as __array_api_version__
from tensorframe.frontend.namespace import bool as bool
from tensorframe.frontend.tensor import Tensor as Tensor
from tensorframe.graph.device import Device as Device

__version__: str
def abs(x: Operand, /) -> Tensor:
    """Absolute values, the magnitude for complex elements."""
def acos(x: Operand, /) -> Tensor:
    """Inverse cosine, in radians."""
def acosh(x: Operand, /) -> Tensor:
    """Inverse hyperbolic cosine."""
def add(x1: Operand, x2: Operand, /) -> Tensor:
    """Sum of two tensors."""
def asin(x: Operand, /) -> Tensor:
    """Inverse sine, in radians."""
def asinh(x: Operand, /) -> Tensor:
    """Inverse hyperbolic sine."""
def atan(x: Operand, /) -> Tensor:
    """Inverse tangent, in radians."""
def atan2(x1: Operand, x2: Operand, /) -> Tensor:
    """Angle of the point (x2, x1), in radians."""
def atanh(x: Operand, /) -> Tensor:
    """Inverse hyperbolic tangent."""
def bitwise_and(x1: Operand, x2: Operand, /) -> Tensor:
    """Bits set in both elements."""
def bitwise_invert(x: Operand, /) -> Tensor:
    """All bits flipped."""
def bitwise_left_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """Bits moved up by the second operand."""
def bitwise_or(x1: Operand, x2: Operand, /) -> Tensor:
    """Bits set in either element."""
def bitwise_right_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """Bits moved down by the second operand; the sign stays."""
def bitwise_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """Bits set in exactly one element."""
def cbrt(x: Operand, /) -> Tensor:
    """Real cube root."""
def ceil(x: Operand, /) -> Tensor:
    """Smallest integers not below the elements."""
def conj(x: Operand, /) -> Tensor:
    """Complex conjugates; real elements are unchanged."""
def copysign(x1: Operand, x2: Operand, /) -> Tensor:
    """Magnitude of the first operand with the sign of the second."""
def cos(x: Operand, /) -> Tensor:
    """Cosine of angles in radians."""
def cosh(x: Operand, /) -> Tensor:
    """Hyperbolic cosine."""
def deg2rad(x: Operand, /) -> Tensor:
    """Angles in degrees, given in radians."""
def divide(x1: Operand, x2: Operand, /) -> Tensor:
    """Quotient of two tensors; integers give the default real dtype."""
def equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether elements are equal."""
def erf(x: Operand, /) -> Tensor:
    """Error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
def erfc(x: Operand, /) -> Tensor:
    """1 - erf(x), accurate for large x."""
def exp(x: Operand, /) -> Tensor:
    """e to the power of each element."""
def exp2(x: Operand, /) -> Tensor:
    """2 to the power of each element."""
def expm1(x: Operand, /) -> Tensor:
    """exp(x) - 1, accurate near zero."""
def floor(x: Operand, /) -> Tensor:
    """Largest integers not above the elements."""
def floor_divide(x1: Operand, x2: Operand, /) -> Tensor:
    """Largest integer not above the quotient."""
def fmax(x1: Operand, x2: Operand, /) -> Tensor:
    """Larger of two elements; a NaN loses against a number."""
def fmin(x1: Operand, x2: Operand, /) -> Tensor:
    """Smaller of two elements; a NaN loses against a number."""
def fmod(x1: Operand, x2: Operand, /) -> Tensor:
    """Remainder of truncated division; it has the dividend's sign."""
def gelu(x: Operand, /) -> Tensor:
    """x times the normal distribution function of x (Hendrycks and Gimpel, arXiv 1606.08415, eq. 1)."""
def greater(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether the first element is the larger."""
def greater_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether the first element is not the smaller."""
def heaviside(x1: Operand, x2: Operand, /) -> Tensor:
    """Step function: 0 below zero, 1 above, the second operand at zero."""
def hypot(x1: Operand, x2: Operand, /) -> Tensor:
    """Square root of the sum of squares, without overflow on the way."""
def imag(x: Operand, /) -> Tensor:
    """Imaginary parts."""
def isfinite(x: Operand, /) -> Tensor:
    """Whether elements are neither NaN nor infinite."""
def isinf(x: Operand, /) -> Tensor:
    """Whether elements are infinite."""
def isnan(x: Operand, /) -> Tensor:
    """Whether elements are NaN."""
def less(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether the first element is the smaller."""
def less_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether the first element is not the larger."""
def log(x: Operand, /) -> Tensor:
    """Natural logarithm."""
def log10(x: Operand, /) -> Tensor:
    """Logarithm to base 10."""
def log1p(x: Operand, /) -> Tensor:
    """log(1 + x), accurate near zero."""
def log2(x: Operand, /) -> Tensor:
    """Logarithm to base 2."""
def logaddexp(x1: Operand, x2: Operand, /) -> Tensor:
    """log(exp(x1) + exp(x2)), without overflow on the way."""
def logical_and(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether both elements are true (not zero)."""
def logical_not(x: Operand, /) -> Tensor:
    """Whether the element is false (zero)."""
def logical_or(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether either element is true (not zero)."""
def logical_xor(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether exactly one element is true (not zero)."""
def maximum(x1: Operand, x2: Operand, /) -> Tensor:
    """Larger of two elements; NaN if either is NaN."""
def minimum(x1: Operand, x2: Operand, /) -> Tensor:
    """Smaller of two elements; NaN if either is NaN."""
def multiply(x1: Operand, x2: Operand, /) -> Tensor:
    """Product of two tensors."""
def negative(x: Operand, /) -> Tensor:
    """Negated elements."""
def nextafter(x1: Operand, x2: Operand, /) -> Tensor:
    """Next representable number after the first operand, towards the second."""
def not_equal(x1: Operand, x2: Operand, /) -> Tensor:
    """Whether elements differ."""
def positive(x: Operand, /) -> Tensor:
    """The elements, unchanged."""
def pow(x1: Operand, x2: Operand, /) -> Tensor:
    """First tensor to the power of the second."""
def rad2deg(x: Operand, /) -> Tensor:
    """Angles in radians, given in degrees."""
def real(x: Operand, /) -> Tensor:
    """Real parts."""
def reciprocal(x: Operand, /) -> Tensor:
    """One divided by each element."""
def relu(x: Operand, /) -> Tensor:
    """The elements, negative ones replaced by zero."""
def remainder(x1: Operand, x2: Operand, /) -> Tensor:
    """Remainder of floor division; it has the divisor's sign."""
def round(x: Operand, /) -> Tensor:
    """Nearest integers; halves go to the even one."""
def sigmoid(x: Operand, /) -> Tensor:
    """Logistic function 1 / (1 + exp(-x))."""
def sign(x: Operand, /) -> Tensor:
    """-1, 0 or 1 by sign; x / |x| for complex elements; NaN stays NaN."""
def signbit(x: Operand, /) -> Tensor:
    """Whether the sign bit is set: true for -0.0."""
def silu(x: Operand, /) -> Tensor:
    """x times sigmoid(x), also called swish."""
def sin(x: Operand, /) -> Tensor:
    """Sine of angles in radians."""
def sinh(x: Operand, /) -> Tensor:
    """Hyperbolic sine."""
def softplus(x: Operand, /) -> Tensor:
    """log(1 + exp(x)), without overflow on the way."""
def sqrt(x: Operand, /) -> Tensor:
    """Square root; NaN for negative real elements."""
def square(x: Operand, /) -> Tensor:
    """Squared elements."""
def subtract(x1: Operand, x2: Operand, /) -> Tensor:
    """Difference of two tensors."""
def tan(x: Operand, /) -> Tensor:
    """Tangent of angles in radians."""
def tanh(x: Operand, /) -> Tensor:
    """Hyperbolic tangent."""
def trunc(x: Operand, /) -> Tensor:
    """Elements without their fraction."""
def where(condition: Operand, x1: Operand, x2: Operand, /) -> Tensor:
    """Elements of the second operand where the condition holds, else of the third."""
