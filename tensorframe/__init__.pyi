"""Written by `python -m tensorframe.testing.stubs`; do not edit."""

from tensorframe import backends as backends
from tensorframe import config as config
from tensorframe import dtypes as dtypes
from tensorframe import errors as errors
from tensorframe import nn as nn
from tensorframe import optim as optim
from tensorframe.backends.registry import get_backend as get_backend
from tensorframe.backends.registry import set_backend as set_backend
from tensorframe.backends.registry import use_backend as use_backend
from tensorframe.backends.selection import set_backend_priority as set_backend_priority
from tensorframe.dtypes import get_default_dtype as get_default_dtype
from tensorframe.dtypes import set_default_dtype as set_default_dtype
from tensorframe.frontend import cache as cache
from tensorframe.frontend import fft as fft
from tensorframe.frontend import linalg as linalg
from tensorframe.frontend import memory as memory
from tensorframe.frontend import random as random
from tensorframe.frontend.array_methods import diagonal as diagonal
from tensorframe.frontend.array_methods import trace as trace
from tensorframe.frontend.autocast import autocast as autocast
from tensorframe.frontend.calibration import Calibration as Calibration
from tensorframe.frontend.calibration import calibrate as calibrate
from tensorframe.frontend.computing import compute as compute
from tensorframe.frontend.constants import e as e
from tensorframe.frontend.constants import inf as inf
from tensorframe.frontend.constants import nan as nan
from tensorframe.frontend.constants import newaxis as newaxis
from tensorframe.frontend.constants import pi as pi
from tensorframe.frontend.conversion.convert import array as array
from tensorframe.frontend.conversion.convert import asarray as asarray
from tensorframe.frontend.conversion.convert import from_dlpack as from_dlpack
from tensorframe.frontend.creation.filled import empty as empty
from tensorframe.frontend.creation.filled import empty_like as empty_like
from tensorframe.frontend.creation.filled import full as full
from tensorframe.frontend.creation.filled import full_like as full_like
from tensorframe.frontend.creation.filled import ones as ones
from tensorframe.frontend.creation.filled import ones_like as ones_like
from tensorframe.frontend.creation.filled import zeros as zeros
from tensorframe.frontend.creation.filled import zeros_like as zeros_like
from tensorframe.frontend.creation.ranges import arange as arange
from tensorframe.frontend.creation.ranges import fromfunction as fromfunction
from tensorframe.frontend.creation.ranges import geomspace as geomspace
from tensorframe.frontend.creation.ranges import indices as indices
from tensorframe.frontend.creation.ranges import linspace as linspace
from tensorframe.frontend.creation.ranges import logspace as logspace
from tensorframe.frontend.creation.ranges import meshgrid as meshgrid
from tensorframe.frontend.creation.triangles import diag as diag
from tensorframe.frontend.creation.triangles import diagflat as diagflat
from tensorframe.frontend.creation.triangles import eye as eye
from tensorframe.frontend.creation.triangles import identity as identity
from tensorframe.frontend.creation.triangles import tri as tri
from tensorframe.frontend.creation.triangles import tril as tril
from tensorframe.frontend.creation.triangles import tril_indices as tril_indices
from tensorframe.frontend.creation.triangles import triu as triu
from tensorframe.frontend.creation.triangles import triu_indices as triu_indices
from tensorframe.frontend.data_types import astype as astype
from tensorframe.frontend.data_types import can_cast as can_cast
from tensorframe.frontend.data_types import isdtype as isdtype
from tensorframe.frontend.data_types import promote_types as promote_types
from tensorframe.frontend.data_types import result_type as result_type
from tensorframe.frontend.doctor import doctor as doctor
from tensorframe.frontend.elementwise.closeness import allclose as allclose
from tensorframe.frontend.elementwise.closeness import array_equal as array_equal
from tensorframe.frontend.elementwise.closeness import array_equiv as array_equiv
from tensorframe.frontend.elementwise.closeness import isclose as isclose
from tensorframe.frontend.elementwise.limits import clip as clip
from tensorframe.frontend.elementwise.limits import nan_to_num as nan_to_num
from tensorframe.frontend.files.leaves import from_reader as from_reader
from tensorframe.frontend.files.loading import load as load
from tensorframe.frontend.files.loading import load_metadata as load_metadata
from tensorframe.frontend.files.saving import save as save
from tensorframe.frontend.functions.elementwise import elementwise as elementwise
from tensorframe.frontend.grad_scaler import GradScaler as GradScaler
from tensorframe.frontend.indexing.searching import argwhere as argwhere
from tensorframe.frontend.indexing.searching import count_nonzero as count_nonzero
from tensorframe.frontend.indexing.searching import flatnonzero as flatnonzero
from tensorframe.frontend.indexing.searching import nonzero as nonzero
from tensorframe.frontend.indexing.searching import put_along_axis as put_along_axis
from tensorframe.frontend.indexing.searching import searchsorted as searchsorted
from tensorframe.frontend.indexing.searching import take as take
from tensorframe.frontend.indexing.searching import take_along_axis as take_along_axis
from tensorframe.frontend.indexing.searching import where as where
from tensorframe.frontend.indexing.segments import index_add as index_add
from tensorframe.frontend.indexing.segments import segment_max as segment_max
from tensorframe.frontend.indexing.segments import segment_mean as segment_mean
from tensorframe.frontend.indexing.segments import segment_min as segment_min
from tensorframe.frontend.indexing.segments import segment_prod as segment_prod
from tensorframe.frontend.indexing.segments import segment_sum as segment_sum
from tensorframe.frontend.jit import jit as jit
from tensorframe.frontend.linalg.contractions import cross as cross
from tensorframe.frontend.linalg.contractions import dot as dot
from tensorframe.frontend.linalg.contractions import inner as inner
from tensorframe.frontend.linalg.contractions import kron as kron
from tensorframe.frontend.linalg.contractions import matmul as matmul
from tensorframe.frontend.linalg.contractions import matrix_transpose as matrix_transpose
from tensorframe.frontend.linalg.contractions import outer as outer
from tensorframe.frontend.linalg.contractions import tensordot as tensordot
from tensorframe.frontend.linalg.contractions import vdot as vdot
from tensorframe.frontend.linalg.contractions import vecdot as vecdot
from tensorframe.frontend.linalg.einstein_summation import einsum as einsum
from tensorframe.frontend.machine_limits import finfo as finfo
from tensorframe.frontend.machine_limits import iinfo as iinfo
from tensorframe.frontend.manipulation.editing import append as append
from tensorframe.frontend.manipulation.editing import delete as delete
from tensorframe.frontend.manipulation.editing import insert as insert
from tensorframe.frontend.manipulation.joining import array_split as array_split
from tensorframe.frontend.manipulation.joining import block as block
from tensorframe.frontend.manipulation.joining import column_stack as column_stack
from tensorframe.frontend.manipulation.joining import concat as concat
from tensorframe.frontend.manipulation.joining import concatenate as concatenate
from tensorframe.frontend.manipulation.joining import dsplit as dsplit
from tensorframe.frontend.manipulation.joining import dstack as dstack
from tensorframe.frontend.manipulation.joining import hsplit as hsplit
from tensorframe.frontend.manipulation.joining import hstack as hstack
from tensorframe.frontend.manipulation.joining import repeat as repeat
from tensorframe.frontend.manipulation.joining import split as split
from tensorframe.frontend.manipulation.joining import stack as stack
from tensorframe.frontend.manipulation.joining import tile as tile
from tensorframe.frontend.manipulation.joining import unstack as unstack
from tensorframe.frontend.manipulation.joining import vsplit as vsplit
from tensorframe.frontend.manipulation.joining import vstack as vstack
from tensorframe.frontend.manipulation.padding import pad as pad
from tensorframe.frontend.manipulation.views import atleast_1d as atleast_1d
from tensorframe.frontend.manipulation.views import atleast_2d as atleast_2d
from tensorframe.frontend.manipulation.views import atleast_3d as atleast_3d
from tensorframe.frontend.manipulation.views import broadcast_arrays as broadcast_arrays
from tensorframe.frontend.manipulation.views import broadcast_shapes as broadcast_shapes
from tensorframe.frontend.manipulation.views import broadcast_to as broadcast_to
from tensorframe.frontend.manipulation.views import expand_dims as expand_dims
from tensorframe.frontend.manipulation.views import flip as flip
from tensorframe.frontend.manipulation.views import fliplr as fliplr
from tensorframe.frontend.manipulation.views import flipud as flipud
from tensorframe.frontend.manipulation.views import moveaxis as moveaxis
from tensorframe.frontend.manipulation.views import permute_dims as permute_dims
from tensorframe.frontend.manipulation.views import ravel as ravel
from tensorframe.frontend.manipulation.views import reshape as reshape
from tensorframe.frontend.manipulation.views import roll as roll
from tensorframe.frontend.manipulation.views import rollaxis as rollaxis
from tensorframe.frontend.manipulation.views import rot90 as rot90
from tensorframe.frontend.manipulation.views import squeeze as squeeze
from tensorframe.frontend.manipulation.views import swapaxes as swapaxes
from tensorframe.frontend.manipulation.views import transpose as transpose
from tensorframe.frontend.methods import Operand
from tensorframe.frontend.namespace import __array_api_version__ as __array_api_version__
from tensorframe.frontend.ordering.histograms import Histogram as Histogram
from tensorframe.frontend.ordering.histograms import bincount as bincount
from tensorframe.frontend.ordering.histograms import digitize as digitize
from tensorframe.frontend.ordering.histograms import histogram as histogram
from tensorframe.frontend.ordering.histograms import histogram_bin_edges as histogram_bin_edges
from tensorframe.frontend.ordering.interpolation import interp as interp
from tensorframe.frontend.ordering.order_statistics import median as median
from tensorframe.frontend.ordering.order_statistics import nanmedian as nanmedian
from tensorframe.frontend.ordering.order_statistics import nanpercentile as nanpercentile
from tensorframe.frontend.ordering.order_statistics import nanquantile as nanquantile
from tensorframe.frontend.ordering.order_statistics import percentile as percentile
from tensorframe.frontend.ordering.order_statistics import quantile as quantile
from tensorframe.frontend.ordering.sets import UniqueAll as UniqueAll
from tensorframe.frontend.ordering.sets import UniqueCounts as UniqueCounts
from tensorframe.frontend.ordering.sets import UniqueInverse as UniqueInverse
from tensorframe.frontend.ordering.sets import intersect1d as intersect1d
from tensorframe.frontend.ordering.sets import isin as isin
from tensorframe.frontend.ordering.sets import setdiff1d as setdiff1d
from tensorframe.frontend.ordering.sets import union1d as union1d
from tensorframe.frontend.ordering.sets import unique as unique
from tensorframe.frontend.ordering.sets import unique_all as unique_all
from tensorframe.frontend.ordering.sets import unique_counts as unique_counts
from tensorframe.frontend.ordering.sets import unique_inverse as unique_inverse
from tensorframe.frontend.ordering.sets import unique_values as unique_values
from tensorframe.frontend.ordering.sorting import TopK as TopK
from tensorframe.frontend.ordering.sorting import argpartition as argpartition
from tensorframe.frontend.ordering.sorting import argsort as argsort
from tensorframe.frontend.ordering.sorting import partition as partition
from tensorframe.frontend.ordering.sorting import sort as sort
from tensorframe.frontend.ordering.sorting import topk as topk
from tensorframe.frontend.plans import explain as explain
from tensorframe.frontend.profiling import Profile as Profile
from tensorframe.frontend.profiling import profile as profile
from tensorframe.frontend.protocols.inspection import __array_namespace_info__ as __array_namespace_info__
from tensorframe.frontend.protocols.native import from_native as from_native
from tensorframe.frontend.reductions.calculus import convolve as convolve
from tensorframe.frontend.reductions.calculus import gradient as gradient
from tensorframe.frontend.reductions.calculus import trapezoid as trapezoid
from tensorframe.frontend.reductions.covariance import corrcoef as corrcoef
from tensorframe.frontend.reductions.covariance import cov as cov
from tensorframe.frontend.reductions.differences import diff as diff
from tensorframe.frontend.reductions.differences import ediff1d as ediff1d
from tensorframe.frontend.reductions.elementary import all as all
from tensorframe.frontend.reductions.elementary import any as any
from tensorframe.frontend.reductions.elementary import argmax as argmax
from tensorframe.frontend.reductions.elementary import argmin as argmin
from tensorframe.frontend.reductions.elementary import max as amax
from tensorframe.frontend.reductions.elementary import max as max
from tensorframe.frontend.reductions.elementary import min as amin
from tensorframe.frontend.reductions.elementary import min as min
from tensorframe.frontend.reductions.elementary import prod as prod
from tensorframe.frontend.reductions.elementary import ptp as ptp
from tensorframe.frontend.reductions.elementary import sum as sum
from tensorframe.frontend.reductions.nan_reductions import nanargmax as nanargmax
from tensorframe.frontend.reductions.nan_reductions import nanargmin as nanargmin
from tensorframe.frontend.reductions.nan_reductions import nancumsum as nancumsum
from tensorframe.frontend.reductions.nan_reductions import nanmax as nanmax
from tensorframe.frontend.reductions.nan_reductions import nanmean as nanmean
from tensorframe.frontend.reductions.nan_reductions import nanmin as nanmin
from tensorframe.frontend.reductions.nan_reductions import nanprod as nanprod
from tensorframe.frontend.reductions.nan_reductions import nanstd as nanstd
from tensorframe.frontend.reductions.nan_reductions import nansum as nansum
from tensorframe.frontend.reductions.nan_reductions import nanvar as nanvar
from tensorframe.frontend.reductions.scans import cumprod as cumprod
from tensorframe.frontend.reductions.scans import cumsum as cumsum
from tensorframe.frontend.reductions.scans import cumulative_prod as cumulative_prod
from tensorframe.frontend.reductions.scans import cumulative_sum as cumulative_sum
from tensorframe.frontend.reductions.softmax import log_softmax as log_softmax
from tensorframe.frontend.reductions.softmax import logsumexp as logsumexp
from tensorframe.frontend.reductions.softmax import softmax as softmax
from tensorframe.frontend.reductions.statistics import average as average
from tensorframe.frontend.reductions.statistics import mean as mean
from tensorframe.frontend.reductions.statistics import std as std
from tensorframe.frontend.reductions.statistics import var as var
from tensorframe.frontend.scalar_types import bfloat16 as bfloat16
from tensorframe.frontend.scalar_types import bool as bool
from tensorframe.frontend.scalar_types import bool_ as bool_
from tensorframe.frontend.scalar_types import complex128 as complex128
from tensorframe.frontend.scalar_types import complex64 as complex64
from tensorframe.frontend.scalar_types import float16 as float16
from tensorframe.frontend.scalar_types import float32 as float32
from tensorframe.frontend.scalar_types import float64 as float64
from tensorframe.frontend.scalar_types import int16 as int16
from tensorframe.frontend.scalar_types import int32 as int32
from tensorframe.frontend.scalar_types import int64 as int64
from tensorframe.frontend.scalar_types import int8 as int8
from tensorframe.frontend.scalar_types import uint16 as uint16
from tensorframe.frontend.scalar_types import uint32 as uint32
from tensorframe.frontend.scalar_types import uint64 as uint64
from tensorframe.frontend.scalar_types import uint8 as uint8
from tensorframe.frontend.tensor import Tensor as Tensor
from tensorframe.frontend.transformations.checking import check_gradient as check_gradient
from tensorframe.frontend.transformations.checkpoints import checkpoint as checkpoint
from tensorframe.frontend.transformations.custom import custom_gradient as custom_gradient
from tensorframe.frontend.transformations.custom import stop_gradient as stop_gradient
from tensorframe.frontend.transformations.directional import hessian as hessian
from tensorframe.frontend.transformations.directional import hvp as hvp
from tensorframe.frontend.transformations.directional import jacobian as jacobian
from tensorframe.frontend.transformations.directional import jvp as jvp
from tensorframe.frontend.transformations.gradients import grad as grad
from tensorframe.frontend.transformations.gradients import value_and_grad as value_and_grad
from tensorframe.frontend.transformations.gradients import vjp as vjp
from tensorframe.frontend.transformations.mapping import vmap as vmap
from tensorframe.frontend.trees import register_tree as register_tree
from tensorframe.frontend.trials.estimates import Estimate as Estimate
from tensorframe.frontend.trials.estimates import estimate as estimate
from tensorframe.frontend.trials.timing import Benchmark as Benchmark
from tensorframe.frontend.trials.timing import bench as bench
from tensorframe.frontend.trials.verification import Verification as Verification
from tensorframe.frontend.trials.verification import verify as verify
from tensorframe.graph.device import Device as Device
from tensorframe.notebook.visualize import visualize as visualize
from tensorframe.schedule.place import transfer_policy as transfer_policy

__all__: list[str]
__version__: str
def abs(x: Operand, /) -> Tensor:
    """Absolute values, the magnitude for complex elements."""
def absolute(x: Operand, /) -> Tensor:
    """Absolute values, the magnitude for complex elements."""
def acos(x: Operand, /) -> Tensor:
    """Inverse cosine, in radians."""
def acosh(x: Operand, /) -> Tensor:
    """Inverse hyperbolic cosine."""
def add(x1: Operand, x2: Operand, /) -> Tensor:
    """Sum of two tensors."""
def arccos(x: Operand, /) -> Tensor:
    """Inverse cosine, in radians."""
def arccosh(x: Operand, /) -> Tensor:
    """Inverse hyperbolic cosine."""
def arcsin(x: Operand, /) -> Tensor:
    """Inverse sine, in radians."""
def arcsinh(x: Operand, /) -> Tensor:
    """Inverse hyperbolic sine."""
def arctan(x: Operand, /) -> Tensor:
    """Inverse tangent, in radians."""
def arctan2(x1: Operand, x2: Operand, /) -> Tensor:
    """Angle of the point (x2, x1), in radians."""
def arctanh(x: Operand, /) -> Tensor:
    """Inverse hyperbolic tangent."""
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
def bitwise_not(x: Operand, /) -> Tensor:
    """All bits flipped."""
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
def conjugate(x: Operand, /) -> Tensor:
    """Complex conjugates; real elements are unchanged."""
def copysign(x1: Operand, x2: Operand, /) -> Tensor:
    """Magnitude of the first operand with the sign of the second."""
def cos(x: Operand, /) -> Tensor:
    """Cosine of angles in radians."""
def cosh(x: Operand, /) -> Tensor:
    """Hyperbolic cosine."""
def deg2rad(x: Operand, /) -> Tensor:
    """Angles in degrees, given in radians."""
def degrees(x: Operand, /) -> Tensor:
    """Angles in radians, given in degrees."""
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
def fabs(x: Operand, /) -> Tensor:
    """Absolute values, the magnitude for complex elements."""
def fix(x: Operand, /) -> Tensor:
    """Elements without their fraction."""
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
    """Imaginary parts; zero for real elements."""
def invert(x: Operand, /) -> Tensor:
    """All bits flipped."""
def isfinite(x: Operand, /) -> Tensor:
    """Whether elements are neither NaN nor infinite."""
def isinf(x: Operand, /) -> Tensor:
    """Whether elements are infinite."""
def isnan(x: Operand, /) -> Tensor:
    """Whether elements are NaN."""
def isneginf(x: Operand, /) -> Tensor:
    """Whether elements are negative infinity."""
def isposinf(x: Operand, /) -> Tensor:
    """Whether elements are positive infinity."""
def left_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """Bits moved up by the second operand."""
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
def log_sigmoid(x: Operand, /) -> Tensor:
    """log(sigmoid(x)), accurate for large negative x."""
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
def mod(x1: Operand, x2: Operand, /) -> Tensor:
    """Remainder of floor division; it has the divisor's sign."""
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
def power(x1: Operand, x2: Operand, /) -> Tensor:
    """First tensor to the power of the second."""
def rad2deg(x: Operand, /) -> Tensor:
    """Angles in radians, given in degrees."""
def radians(x: Operand, /) -> Tensor:
    """Angles in degrees, given in radians."""
def real(x: Operand, /) -> Tensor:
    """Real parts."""
def reciprocal(x: Operand, /) -> Tensor:
    """One divided by each element."""
def relu(x: Operand, /) -> Tensor:
    """The elements, negative ones replaced by zero."""
def remainder(x1: Operand, x2: Operand, /) -> Tensor:
    """Remainder of floor division; it has the divisor's sign."""
def right_shift(x1: Operand, x2: Operand, /) -> Tensor:
    """Bits moved down by the second operand; the sign stays."""
def rint(x: Operand, /) -> Tensor:
    """Nearest integers; halves go to the even one."""
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
def sinc(x: Operand, /) -> Tensor:
    """sin(pi x) / (pi x), and 1 at zero."""
def sinh(x: Operand, /) -> Tensor:
    """Hyperbolic sine."""
def softplus(x: Operand, /) -> Tensor:
    """log(1 + exp(x)), without overflow on the way."""
def softsign(x: Operand, /) -> Tensor:
    """x / (1 + |x|), a saturating activation."""
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
def true_divide(x1: Operand, x2: Operand, /) -> Tensor:
    """Quotient of two tensors; integers give the default real dtype."""
def trunc(x: Operand, /) -> Tensor:
    """Elements without their fraction."""
