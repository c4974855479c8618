"""Written by `python -m tensorframe.testing.stubs`; do not edit."""

from numpy import char as char
from numpy import ctypeslib as ctypeslib
from numpy import exceptions as exceptions
from numpy import ma as ma
from numpy import polynomial as polynomial
from numpy import rec as rec
from numpy import strings as strings
from numpy import typing as typing
from tensorframe import backends as backends
from tensorframe import config as config
from tensorframe import dtypes as dtypes
from tensorframe import errors as errors
from tensorframe import extensions as extensions
from tensorframe import nn as nn
from tensorframe import optim as optim
from tensorframe import sparse as sparse
from tensorframe import testing as testing
from tensorframe.backends.registry import get_backend as get_backend
from tensorframe.backends.registry import set_backend as set_backend
from tensorframe.backends.registry import use_backend as use_backend
from tensorframe.backends.selection import set_backend_priority as set_backend_priority
from tensorframe.dtypes import DTypeLike
from tensorframe.dtypes import get_default_dtype as get_default_dtype
from tensorframe.dtypes import set_default_dtype as set_default_dtype
from tensorframe.frontend import fft as fft
from tensorframe.frontend import linalg as linalg
from tensorframe.frontend import random as random
from tensorframe.frontend import special as special
from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.computing import compute as compute
from tensorframe.frontend.computing import synchronize as synchronize
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
from tensorframe.frontend.creation.geometric import geomspace as geomspace
from tensorframe.frontend.creation.geometric import logspace as logspace
from tensorframe.frontend.creation.grids import fromfunction as fromfunction
from tensorframe.frontend.creation.grids import indices as indices
from tensorframe.frontend.creation.grids import meshgrid as meshgrid
from tensorframe.frontend.creation.ranges import arange as arange
from tensorframe.frontend.creation.ranges import linspace as linspace
from tensorframe.frontend.creation.triangles import diag as diag
from tensorframe.frontend.creation.triangles import diagflat as diagflat
from tensorframe.frontend.creation.triangles import eye as eye
from tensorframe.frontend.creation.triangles import identity as identity
from tensorframe.frontend.creation.triangles import tri as tri
from tensorframe.frontend.creation.triangles import tril as tril
from tensorframe.frontend.creation.triangles import tril_indices as tril_indices
from tensorframe.frontend.creation.triangles import triu as triu
from tensorframe.frontend.creation.triangles import triu_indices as triu_indices
from tensorframe.frontend.diagnostics import cache as cache
from tensorframe.frontend.diagnostics import memory as memory
from tensorframe.frontend.diagnostics.autotuning import Autotuning as Autotuning
from tensorframe.frontend.diagnostics.autotuning import autotune as autotune
from tensorframe.frontend.diagnostics.calibration import Calibration as Calibration
from tensorframe.frontend.diagnostics.calibration import calibrate as calibrate
from tensorframe.frontend.diagnostics.doctor import doctor as doctor
from tensorframe.frontend.diagnostics.plans import explain as explain
from tensorframe.frontend.diagnostics.profiling import Profile as Profile
from tensorframe.frontend.diagnostics.profiling import profile as profile
from tensorframe.frontend.dtypes.casting import Casting
from tensorframe.frontend.dtypes.constants import e as e
from tensorframe.frontend.dtypes.constants import inf as inf
from tensorframe.frontend.dtypes.constants import nan as nan
from tensorframe.frontend.dtypes.constants import newaxis as newaxis
from tensorframe.frontend.dtypes.constants import pi as pi
from tensorframe.frontend.dtypes.data_types import astype as astype
from tensorframe.frontend.dtypes.data_types import can_cast as can_cast
from tensorframe.frontend.dtypes.data_types import isdtype as isdtype
from tensorframe.frontend.dtypes.data_types import promote_types as promote_types
from tensorframe.frontend.dtypes.data_types import result_type as result_type
from tensorframe.frontend.dtypes.machine_limits import finfo as finfo
from tensorframe.frontend.dtypes.machine_limits import iinfo as iinfo
from tensorframe.frontend.dtypes.scalar_types import bfloat16 as bfloat16
from tensorframe.frontend.dtypes.scalar_types import bool as bool
from tensorframe.frontend.dtypes.scalar_types import bool_ as bool_
from tensorframe.frontend.dtypes.scalar_types import complex128 as complex128
from tensorframe.frontend.dtypes.scalar_types import complex64 as complex64
from tensorframe.frontend.dtypes.scalar_types import float16 as float16
from tensorframe.frontend.dtypes.scalar_types import float32 as float32
from tensorframe.frontend.dtypes.scalar_types import float64 as float64
from tensorframe.frontend.dtypes.scalar_types import int16 as int16
from tensorframe.frontend.dtypes.scalar_types import int32 as int32
from tensorframe.frontend.dtypes.scalar_types import int64 as int64
from tensorframe.frontend.dtypes.scalar_types import int8 as int8
from tensorframe.frontend.dtypes.scalar_types import uint16 as uint16
from tensorframe.frontend.dtypes.scalar_types import uint32 as uint32
from tensorframe.frontend.dtypes.scalar_types import uint64 as uint64
from tensorframe.frontend.dtypes.scalar_types import uint8 as uint8
from tensorframe.frontend.elementwise.closeness import allclose as allclose
from tensorframe.frontend.elementwise.closeness import array_equal as array_equal
from tensorframe.frontend.elementwise.closeness import array_equiv as array_equiv
from tensorframe.frontend.elementwise.closeness import isclose as isclose
from tensorframe.frontend.elementwise.limits import clip as clip
from tensorframe.frontend.elementwise.limits import nan_to_num as nan_to_num
from tensorframe.frontend.elementwise.rounding import around as around
from tensorframe.frontend.elementwise.rounding import round as round
from tensorframe.frontend.files.leaves import from_reader as from_reader
from tensorframe.frontend.files.loading import load as load
from tensorframe.frontend.files.loading import load_metadata as load_metadata
from tensorframe.frontend.files.saving import save as save
from tensorframe.frontend.indexing.searching import argwhere as argwhere
from tensorframe.frontend.indexing.searching import flatnonzero as flatnonzero
from tensorframe.frontend.indexing.searching import nonzero as nonzero
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
from tensorframe.frontend.jit.jit import jit as jit
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
from tensorframe.frontend.linalg.stacks import einsum_path as einsum_path
from tensorframe.frontend.linalg.stacks import matvec as matvec
from tensorframe.frontend.linalg.stacks import vecmat as vecmat
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
from tensorframe.frontend.mixed_precision.autocast import autocast as autocast
from tensorframe.frontend.mixed_precision.grad_scaler import GradScaler as GradScaler
from tensorframe.frontend.namespace import __array_api_version__ as __array_api_version__
from tensorframe.frontend.numpy_names import emath as emath
from tensorframe.frontend.numpy_names import lib as lib
from tensorframe.frontend.numpy_names.along import apply_along_axis as apply_along_axis
from tensorframe.frontend.numpy_names.along import apply_over_axes as apply_over_axes
from tensorframe.frontend.numpy_names.bits import packbits as packbits
from tensorframe.frontend.numpy_names.bits import unpackbits as unpackbits
from tensorframe.frontend.numpy_names.choosing import choose as choose
from tensorframe.frontend.numpy_names.choosing import compress as compress
from tensorframe.frontend.numpy_names.choosing import extract as extract
from tensorframe.frontend.numpy_names.choosing import piecewise as piecewise
from tensorframe.frontend.numpy_names.choosing import resize as resize
from tensorframe.frontend.numpy_names.choosing import select as select
from tensorframe.frontend.numpy_names.copies import asanyarray as asanyarray
from tensorframe.frontend.numpy_names.copies import asarray_chkfinite as asarray_chkfinite
from tensorframe.frontend.numpy_names.copies import ascontiguousarray as ascontiguousarray
from tensorframe.frontend.numpy_names.copies import asfortranarray as asfortranarray
from tensorframe.frontend.numpy_names.copies import copy as copy
from tensorframe.frontend.numpy_names.copies import frombuffer as frombuffer
from tensorframe.frontend.numpy_names.copies import fromiter as fromiter
from tensorframe.frontend.numpy_names.copies import fromstring as fromstring
from tensorframe.frontend.numpy_names.elementwise import angle as angle
from tensorframe.frontend.numpy_names.elementwise import bitwise_count as bitwise_count
from tensorframe.frontend.numpy_names.elementwise import divmod as divmod
from tensorframe.frontend.numpy_names.elementwise import fabs as fabs
from tensorframe.frontend.numpy_names.elementwise import fix as fix
from tensorframe.frontend.numpy_names.elementwise import float_power as float_power
from tensorframe.frontend.numpy_names.elementwise import frexp as frexp
from tensorframe.frontend.numpy_names.elementwise import gcd as gcd
from tensorframe.frontend.numpy_names.elementwise import i0 as i0
from tensorframe.frontend.numpy_names.elementwise import iscomplex as iscomplex
from tensorframe.frontend.numpy_names.elementwise import iscomplexobj as iscomplexobj
from tensorframe.frontend.numpy_names.elementwise import isreal as isreal
from tensorframe.frontend.numpy_names.elementwise import isrealobj as isrealobj
from tensorframe.frontend.numpy_names.elementwise import lcm as lcm
from tensorframe.frontend.numpy_names.elementwise import ldexp as ldexp
from tensorframe.frontend.numpy_names.elementwise import logaddexp2 as logaddexp2
from tensorframe.frontend.numpy_names.elementwise import modf as modf
from tensorframe.frontend.numpy_names.elementwise import real_if_close as real_if_close
from tensorframe.frontend.numpy_names.elementwise import rint as rint
from tensorframe.frontend.numpy_names.elementwise import spacing as spacing
from tensorframe.frontend.numpy_names.elementwise import unwrap as unwrap
from tensorframe.frontend.numpy_names.files import fromfile as fromfile
from tensorframe.frontend.numpy_names.files import genfromtxt as genfromtxt
from tensorframe.frontend.numpy_names.files import loadtxt as loadtxt
from tensorframe.frontend.numpy_names.files import savetxt as savetxt
from tensorframe.frontend.numpy_names.files import savez as savez
from tensorframe.frontend.numpy_names.files import savez_compressed as savez_compressed
from tensorframe.frontend.numpy_names.joint_histograms import histogram2d as histogram2d
from tensorframe.frontend.numpy_names.joint_histograms import histogramdd as histogramdd
from tensorframe.frontend.numpy_names.joint_histograms import trim_zeros as trim_zeros
from tensorframe.frontend.numpy_names.names import False_ as False_
from tensorframe.frontend.numpy_names.names import True_ as True_
from tensorframe.frontend.numpy_names.names import array2string as array2string
from tensorframe.frontend.numpy_names.names import array_repr as array_repr
from tensorframe.frontend.numpy_names.names import array_str as array_str
from tensorframe.frontend.numpy_names.names import base_repr as base_repr
from tensorframe.frontend.numpy_names.names import binary_repr as binary_repr
from tensorframe.frontend.numpy_names.names import byte as byte
from tensorframe.frontend.numpy_names.names import cdouble as cdouble
from tensorframe.frontend.numpy_names.names import complexfloating as complexfloating
from tensorframe.frontend.numpy_names.names import csingle as csingle
from tensorframe.frontend.numpy_names.names import double as double
from tensorframe.frontend.numpy_names.names import dtype as dtype
from tensorframe.frontend.numpy_names.names import errstate as errstate
from tensorframe.frontend.numpy_names.names import euler_gamma as euler_gamma
from tensorframe.frontend.numpy_names.names import floating as floating
from tensorframe.frontend.numpy_names.names import format_float_positional as format_float_positional
from tensorframe.frontend.numpy_names.names import format_float_scientific as format_float_scientific
from tensorframe.frontend.numpy_names.names import generic as generic
from tensorframe.frontend.numpy_names.names import get_printoptions as get_printoptions
from tensorframe.frontend.numpy_names.names import geterr as geterr
from tensorframe.frontend.numpy_names.names import half as half
from tensorframe.frontend.numpy_names.names import index_exp as index_exp
from tensorframe.frontend.numpy_names.names import inexact as inexact
from tensorframe.frontend.numpy_names.names import int_ as int_
from tensorframe.frontend.numpy_names.names import intc as intc
from tensorframe.frontend.numpy_names.names import integer as integer
from tensorframe.frontend.numpy_names.names import intp as intp
from tensorframe.frontend.numpy_names.names import isscalar as isscalar
from tensorframe.frontend.numpy_names.names import issubdtype as issubdtype
from tensorframe.frontend.numpy_names.names import iterable as iterable
from tensorframe.frontend.numpy_names.names import long as long
from tensorframe.frontend.numpy_names.names import longlong as longlong
from tensorframe.frontend.numpy_names.names import ndarray as ndarray
from tensorframe.frontend.numpy_names.names import ndim as ndim
from tensorframe.frontend.numpy_names.names import ndindex as ndindex
from tensorframe.frontend.numpy_names.names import number as number
from tensorframe.frontend.numpy_names.names import printoptions as printoptions
from tensorframe.frontend.numpy_names.names import s_ as s_
from tensorframe.frontend.numpy_names.names import set_printoptions as set_printoptions
from tensorframe.frontend.numpy_names.names import seterr as seterr
from tensorframe.frontend.numpy_names.names import shape as shape
from tensorframe.frontend.numpy_names.names import short as short
from tensorframe.frontend.numpy_names.names import signedinteger as signedinteger
from tensorframe.frontend.numpy_names.names import single as single
from tensorframe.frontend.numpy_names.names import size as size
from tensorframe.frontend.numpy_names.names import typename as typename
from tensorframe.frontend.numpy_names.names import ubyte as ubyte
from tensorframe.frontend.numpy_names.names import uint as uint
from tensorframe.frontend.numpy_names.names import uintc as uintc
from tensorframe.frontend.numpy_names.names import uintp as uintp
from tensorframe.frontend.numpy_names.names import ulong as ulong
from tensorframe.frontend.numpy_names.names import ulonglong as ulonglong
from tensorframe.frontend.numpy_names.names import unsignedinteger as unsignedinteger
from tensorframe.frontend.numpy_names.names import ushort as ushort
from tensorframe.frontend.numpy_names.names import vectorize as vectorize
from tensorframe.frontend.numpy_names.numpys_own import ScalarType as ScalarType
from tensorframe.frontend.numpy_names.numpys_own import asmatrix as asmatrix
from tensorframe.frontend.numpy_names.numpys_own import bmat as bmat
from tensorframe.frontend.numpy_names.numpys_own import broadcast as broadcast
from tensorframe.frontend.numpy_names.numpys_own import busday_count as busday_count
from tensorframe.frontend.numpy_names.numpys_own import busday_offset as busday_offset
from tensorframe.frontend.numpy_names.numpys_own import busdaycalendar as busdaycalendar
from tensorframe.frontend.numpy_names.numpys_own import bytes_ as bytes_
from tensorframe.frontend.numpy_names.numpys_own import character as character
from tensorframe.frontend.numpy_names.numpys_own import clongdouble as clongdouble
from tensorframe.frontend.numpy_names.numpys_own import common_type as common_type
from tensorframe.frontend.numpy_names.numpys_own import datetime64 as datetime64
from tensorframe.frontend.numpy_names.numpys_own import datetime_as_string as datetime_as_string
from tensorframe.frontend.numpy_names.numpys_own import datetime_data as datetime_data
from tensorframe.frontend.numpy_names.numpys_own import flatiter as flatiter
from tensorframe.frontend.numpy_names.numpys_own import flexible as flexible
from tensorframe.frontend.numpy_names.numpys_own import frompyfunc as frompyfunc
from tensorframe.frontend.numpy_names.numpys_own import fromregex as fromregex
from tensorframe.frontend.numpy_names.numpys_own import get_include as get_include
from tensorframe.frontend.numpy_names.numpys_own import getbufsize as getbufsize
from tensorframe.frontend.numpy_names.numpys_own import geterrcall as geterrcall
from tensorframe.frontend.numpy_names.numpys_own import info as info
from tensorframe.frontend.numpy_names.numpys_own import is_busday as is_busday
from tensorframe.frontend.numpy_names.numpys_own import isfortran as isfortran
from tensorframe.frontend.numpy_names.numpys_own import isnat as isnat
from tensorframe.frontend.numpy_names.numpys_own import little_endian as little_endian
from tensorframe.frontend.numpy_names.numpys_own import longdouble as longdouble
from tensorframe.frontend.numpy_names.numpys_own import matrix as matrix
from tensorframe.frontend.numpy_names.numpys_own import may_share_memory as may_share_memory
from tensorframe.frontend.numpy_names.numpys_own import memmap as memmap
from tensorframe.frontend.numpy_names.numpys_own import min_scalar_type as min_scalar_type
from tensorframe.frontend.numpy_names.numpys_own import mintypecode as mintypecode
from tensorframe.frontend.numpy_names.numpys_own import nditer as nditer
from tensorframe.frontend.numpy_names.numpys_own import nested_iters as nested_iters
from tensorframe.frontend.numpy_names.numpys_own import object_ as object_
from tensorframe.frontend.numpy_names.numpys_own import recarray as recarray
from tensorframe.frontend.numpy_names.numpys_own import record as record
from tensorframe.frontend.numpy_names.numpys_own import require as require
from tensorframe.frontend.numpy_names.numpys_own import row_stack as row_stack
from tensorframe.frontend.numpy_names.numpys_own import sctypeDict as sctypeDict
from tensorframe.frontend.numpy_names.numpys_own import setbufsize as setbufsize
from tensorframe.frontend.numpy_names.numpys_own import seterrcall as seterrcall
from tensorframe.frontend.numpy_names.numpys_own import shares_memory as shares_memory
from tensorframe.frontend.numpy_names.numpys_own import show_config as show_config
from tensorframe.frontend.numpy_names.numpys_own import show_runtime as show_runtime
from tensorframe.frontend.numpy_names.numpys_own import str_ as str_
from tensorframe.frontend.numpy_names.numpys_own import timedelta64 as timedelta64
from tensorframe.frontend.numpy_names.numpys_own import typecodes as typecodes
from tensorframe.frontend.numpy_names.numpys_own import ufunc as ufunc
from tensorframe.frontend.numpy_names.numpys_own import void as void
from tensorframe.frontend.numpy_names.polynomials import poly as poly
from tensorframe.frontend.numpy_names.polynomials import poly1d as poly1d
from tensorframe.frontend.numpy_names.polynomials import polyadd as polyadd
from tensorframe.frontend.numpy_names.polynomials import polyder as polyder
from tensorframe.frontend.numpy_names.polynomials import polydiv as polydiv
from tensorframe.frontend.numpy_names.polynomials import polyfit as polyfit
from tensorframe.frontend.numpy_names.polynomials import polyint as polyint
from tensorframe.frontend.numpy_names.polynomials import polymul as polymul
from tensorframe.frontend.numpy_names.polynomials import polysub as polysub
from tensorframe.frontend.numpy_names.polynomials import polyval as polyval
from tensorframe.frontend.numpy_names.polynomials import roots as roots
from tensorframe.frontend.numpy_names.polynomials import vander as vander
from tensorframe.frontend.numpy_names.positions import c_ as c_
from tensorframe.frontend.numpy_names.positions import diag_indices as diag_indices
from tensorframe.frontend.numpy_names.positions import diag_indices_from as diag_indices_from
from tensorframe.frontend.numpy_names.positions import ix_ as ix_
from tensorframe.frontend.numpy_names.positions import mask_indices as mask_indices
from tensorframe.frontend.numpy_names.positions import mgrid as mgrid
from tensorframe.frontend.numpy_names.positions import ndenumerate as ndenumerate
from tensorframe.frontend.numpy_names.positions import ogrid as ogrid
from tensorframe.frontend.numpy_names.positions import r_ as r_
from tensorframe.frontend.numpy_names.positions import ravel_multi_index as ravel_multi_index
from tensorframe.frontend.numpy_names.positions import tril_indices_from as tril_indices_from
from tensorframe.frontend.numpy_names.positions import triu_indices_from as triu_indices_from
from tensorframe.frontend.numpy_names.positions import unravel_index as unravel_index
from tensorframe.frontend.numpy_names.windows import bartlett as bartlett
from tensorframe.frontend.numpy_names.windows import blackman as blackman
from tensorframe.frontend.numpy_names.windows import hamming as hamming
from tensorframe.frontend.numpy_names.windows import hanning as hanning
from tensorframe.frontend.numpy_names.windows import kaiser as kaiser
from tensorframe.frontend.numpy_names.writing import copyto as copyto
from tensorframe.frontend.numpy_names.writing import fill_diagonal as fill_diagonal
from tensorframe.frontend.numpy_names.writing import place as place
from tensorframe.frontend.numpy_names.writing import put as put
from tensorframe.frontend.numpy_names.writing import put_along_axis as put_along_axis
from tensorframe.frontend.numpy_names.writing import putmask as putmask
from tensorframe.frontend.ordering.histograms import Histogram as Histogram
from tensorframe.frontend.ordering.histograms import bincount as bincount
from tensorframe.frontend.ordering.histograms import digitize as digitize
from tensorframe.frontend.ordering.histograms import histogram as histogram
from tensorframe.frontend.ordering.histograms import histogram_bin_edges as histogram_bin_edges
from tensorframe.frontend.ordering.interpolation import interp as interp
from tensorframe.frontend.ordering.lexicographic import lexsort as lexsort
from tensorframe.frontend.ordering.lexicographic import sort_complex as sort_complex
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
from tensorframe.frontend.ordering.sets import setxor1d as setxor1d
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
from tensorframe.frontend.outputs import Output
from tensorframe.frontend.protocols.array_methods import diagonal as diagonal
from tensorframe.frontend.protocols.array_methods import trace as trace
from tensorframe.frontend.protocols.inspection import __array_namespace_info__ as __array_namespace_info__
from tensorframe.frontend.protocols.native import from_native as from_native
from tensorframe.frontend.raw_kernels.kernel import raw_kernel as raw_kernel
from tensorframe.frontend.reductions.calculus import convolve as convolve
from tensorframe.frontend.reductions.calculus import correlate as correlate
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
from tensorframe.frontend.reductions.elementary import count_nonzero as count_nonzero
from tensorframe.frontend.reductions.elementary import max as amax
from tensorframe.frontend.reductions.elementary import max as max
from tensorframe.frontend.reductions.elementary import min as amin
from tensorframe.frontend.reductions.elementary import min as min
from tensorframe.frontend.reductions.elementary import prod as prod
from tensorframe.frontend.reductions.elementary import ptp as ptp
from tensorframe.frontend.reductions.elementary import sum as sum
from tensorframe.frontend.reductions.nan_reductions import nanargmax as nanargmax
from tensorframe.frontend.reductions.nan_reductions import nanargmin as nanargmin
from tensorframe.frontend.reductions.nan_reductions import nancumprod as nancumprod
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
from tensorframe.frontend.special import cbrt as cbrt
from tensorframe.frontend.special import erf as erf
from tensorframe.frontend.special import erfc as erfc
from tensorframe.frontend.special import exp2 as exp2
from tensorframe.frontend.special import expm1 as expm1
from tensorframe.frontend.special import log1p as log1p
from tensorframe.frontend.special import sinc as sinc
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
from tensorframe.frontend.user_functions.elementwise import elementwise as elementwise
from tensorframe.graph.device import Device as Device
from tensorframe.nn import quantization as quantization
from tensorframe.notebook.visualize import visualize as visualize
from tensorframe.schedule.place import transfer_policy as transfer_policy
from typing import Any
from typing import Literal

__all__: list[str]
__version__: str
def abs(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Absolute values, the magnitude for complex elements."""
def absolute(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Absolute values, the magnitude for complex elements."""
def acos(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Inverse cosine, in radians."""
def acosh(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Inverse hyperbolic cosine."""
def add(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Sum of two tensors."""
def arccos(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Inverse cosine, in radians."""
def arccosh(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Inverse hyperbolic cosine."""
def arcsin(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Inverse sine, in radians."""
def arcsinh(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Inverse hyperbolic sine."""
def arctan(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Inverse tangent, in radians."""
def arctan2(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Angle of the point (x2, x1), in radians."""
def arctanh(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Inverse hyperbolic tangent."""
def asin(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Inverse sine, in radians."""
def asinh(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Inverse hyperbolic sine."""
def atan(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Inverse tangent, in radians."""
def atan2(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Angle of the point (x2, x1), in radians."""
def atanh(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Inverse hyperbolic tangent."""
def bitwise_and(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Bits set in both elements."""
def bitwise_invert(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """All bits flipped."""
def bitwise_left_shift(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Bits moved up by the second operand."""
def bitwise_not(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """All bits flipped."""
def bitwise_or(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Bits set in either element."""
def bitwise_right_shift(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Bits moved down by the second operand; the sign stays."""
def bitwise_xor(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Bits set in exactly one element."""
def ceil(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Smallest integers not below the elements."""
def conj(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Complex conjugates; real elements are unchanged."""
def conjugate(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Complex conjugates; real elements are unchanged."""
def copysign(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Magnitude of the first operand with the sign of the second."""
def cos(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Cosine of angles in radians."""
def cosh(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Hyperbolic cosine."""
def deg2rad(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Angles in degrees, given in radians."""
def degrees(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Angles in radians, given in degrees."""
def divide(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Quotient of two tensors; integers give the default real dtype."""
def equal(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether elements are equal."""
def exp(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """e to the power of each element."""
def floor(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Largest integers not above the elements."""
def floor_divide(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Largest integer not above the quotient."""
def fmax(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Larger of two elements; a NaN loses against a number."""
def fmin(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Smaller of two elements; a NaN loses against a number."""
def fmod(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Remainder of truncated division; it has the dividend's sign."""
def gelu(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """x times the normal distribution function of x (Hendrycks and Gimpel, arXiv 1606.08415, eq. 1)."""
def greater(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether the first element is the larger."""
def greater_equal(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether the first element is not the smaller."""
def heaviside(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Step function: 0 below zero, 1 above, the second operand at zero."""
def hypot(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Square root of the sum of squares, without overflow on the way."""
def imag(val: ArrayLike) -> Tensor:
    """Imaginary parts; zero for real elements."""
def invert(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """All bits flipped."""
def isfinite(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether elements are neither NaN nor infinite."""
def isinf(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether elements are infinite, of either sign."""
def isnan(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether elements are NaN: for complex numbers, in either part."""
def isneginf(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether elements are negative infinity."""
def isposinf(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether elements are positive infinity."""
def left_shift(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Bits moved up by the second operand."""
def less(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether the first element is the smaller."""
def less_equal(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether the first element is not the larger."""
def log(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Natural logarithm."""
def log10(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Logarithm to base 10."""
def log2(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Logarithm to base 2."""
def log_sigmoid(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """log(sigmoid(x)), accurate for large negative x."""
def logaddexp(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """log(exp(x1) + exp(x2)), without overflow on the way."""
def logical_and(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether both elements are true (not zero)."""
def logical_not(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether the element is false (zero)."""
def logical_or(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether either element is true (not zero)."""
def logical_xor(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether exactly one element is true (not zero)."""
def maximum(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Larger of two elements; NaN if either is NaN."""
def minimum(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Smaller of two elements; NaN if either is NaN."""
def mod(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Remainder of floor division; it has the divisor's sign."""
def multiply(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Product of two tensors."""
def negative(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Negated elements: the sign changes, of zero too."""
def nextafter(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Next representable number after the first operand, towards the second."""
def not_equal(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether elements differ."""
def positive(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """The elements, unchanged."""
def pow(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """First tensor to the power of the second."""
def power(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """First tensor to the power of the second."""
def rad2deg(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Angles in radians, given in degrees."""
def radians(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Angles in degrees, given in radians."""
def real(val: ArrayLike) -> Tensor:
    """Real parts."""
def reciprocal(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """One divided by each element."""
def relu(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """The elements, negative ones replaced by zero."""
def remainder(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Remainder of floor division; it has the divisor's sign."""
def right_shift(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Bits moved down by the second operand; the sign stays."""
def sigmoid(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Logistic function 1 / (1 + exp(-x))."""
def sign(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """-1, 0 or 1 by sign; x / |x| for complex elements; NaN stays NaN."""
def signbit(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Whether the sign bit is set: true for -0.0."""
def silu(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """x times sigmoid(x), also called swish."""
def sin(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Sine of angles in radians."""
def sinh(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Hyperbolic sine."""
def softplus(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """log(1 + exp(x)), without overflow on the way."""
def softsign(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """x / (1 + |x|), a saturating activation."""
def sqrt(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Square root; NaN for negative real elements."""
def square(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Squared elements: each one times itself."""
def subtract(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Difference of two tensors."""
def tan(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Tangent of angles in radians."""
def tanh(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Hyperbolic tangent."""
def true_divide(x1: ArrayLike, x2: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Quotient of two tensors; integers give the default real dtype."""
def trunc(x: ArrayLike, /, out: Output = None, *, where: ArrayLike = True, casting: Casting = 'same_kind', order: str = 'K', dtype: DTypeLike | None = None, subok: Literal[True, False] = True, signature: None = None) -> Tensor:
    """Elements without their fraction: rounded towards zero."""
