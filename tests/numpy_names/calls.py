"""Calls of NumPy's functions, with every argument that they have: NumPy's own spelling, run in both namespaces.

Operands are names, of which each environment has its own dtype and layout: `x` (3, 4), `v` and `w` (6,), `m` (3, 3)
and `h` (3, 3, positive definite), `i` and `k` integers (3, 4) and (6,), `b` bools (6,), `c` complex (6,), `z` without
axes, `q` between 0 and 1, `o` in order, `n` with NaN among the elements.
"""

from __future__ import annotations

# several calls of a function are separated by semicolons
CALLS = r"""
abs: abs(x); abs(c); abs(b); abs(i, dtype=float); abs(x, where=x > 0, out=zeros_like(x))
all: all(x); all(b, 0, None, True); all(x, axis=1, keepdims=True, where=x > 0)
allclose: allclose(x, x); allclose(a=x, b=x + 1, rtol=1e-3, atol=1e-3, equal_nan=True)
amax: amax(a=x, axis=0, keepdims=True, initial=1, where=x > 0)
amin: amin(a=x, axis=0, keepdims=True, initial=9, where=x > 0)
angle: angle(c); angle(z=x, deg=True)
any: any(x); any(b, 0, None, True); any(a=x, axis=1, where=x > 0)
append: append(x, x); append(arr=x, values=x, axis=0)
apply_along_axis: apply_along_axis(sum, 0, x); apply_along_axis(lambda r: r[:2] * 2, axis=1, arr=x); \
apply_along_axis(lambda r, p, q=0: r * p + q, 1, x, 2, q=3)
apply_over_axes: apply_over_axes(sum, x, (0, 1))
arange: arange(5); arange(2, 8, 3); arange(1, None, 1) if 0 else arange(3.5); arange(5, dtype="f4"); \
arange(0, 1, 0.25)
argmax: argmax(x); argmax(a=x, axis=1, keepdims=True); argmax(n)
argmin: argmin(x); argmin(x, 0); \
argmin(a=x, axis=1, keepdims=True)
argpartition: argpartition(v, 2)[2]; argpartition(x, kth=1, axis=0, kind="introselect")[1]
argsort: argsort(o); argsort(a=x, axis=0, kind="stable"); argsort(v, -1, "mergesort"); argsort(c); \
argsort(v, stable=True)
argwhere: argwhere(x > 0)
around: around(x, 1); around(a=x * 100, decimals=-1)
array: array([1, 2]); array(x, ndmin=3); array([1, 2], float, copy=True, order="C"); \
array([[1, 2], [3, 4]], ndmax=2)
array_equal: array_equal(x, x); array_equal(n, n, equal_nan=True)
array_equiv: array_equiv(x, x[:1])
array_split: array_split(v, 4); array_split(ary=x, indices_or_sections=[1], axis=1)
asanyarray: asanyarray(x); asanyarray([1, 2], float); \
asanyarray(x, copy=True)
asarray: asarray([1, 2], float); asarray(x, None, "C"); \
asarray(x, copy=True)
asarray_chkfinite: asarray_chkfinite(x); \
asarray_chkfinite(x, dtype="f8")
ascontiguousarray: ascontiguousarray(x); ascontiguousarray(3.0); \
ascontiguousarray(x, dtype="f8")
asfortranarray: asfortranarray(x); \
asfortranarray(x, dtype="f8")
astype: astype(x, "f4"); astype(x, "c16", copy=False)
atleast_1d: atleast_1d(z); atleast_1d(z, x)
atleast_2d: atleast_2d(z); atleast_2d(v, x)
atleast_3d: atleast_3d(z); atleast_3d(v, x)
average: average(x); average(x, 1, arange(4.0), True, keepdims=True); average(a=v, weights=q)
bartlett: bartlett(0); bartlett(1); bartlett(M=7)
bincount: bincount(k); bincount(k, weights=v, minlength=12)
bitwise_and: bitwise_and(i, 3); bitwise_and(i, k[:4])
bitwise_count: bitwise_count(i); bitwise_count(b)
bitwise_or: bitwise_or(i, 3)
bitwise_xor: bitwise_xor(i, 3)
blackman: blackman(1); blackman(8)
block: block([[x, x], [x, x]])
broadcast_arrays: broadcast_arrays(x, z); broadcast_arrays(v, v[:, None])
broadcast_shapes: broadcast_shapes((3, 1), (4,))
broadcast_to: broadcast_to(v, (2, 6)); broadcast_to(array=z, shape=(2,), subok=True)
can_cast: can_cast("i4", "i8"); can_cast("f8", "f4", "same_kind"); can_cast("f8", "i4", casting="unsafe")
choose: choose([2, 0, 1], [x[0, :3], x[1, :3], x[2, :3]]); choose([3, -1], [[1, 2], [4, 5]], mode="wrap"); \
choose([3, -1], [[1, 2], [4, 5]], None, "clip")
clip: clip(x, 0, 1); clip(a=x, a_min=None, a_max=0); clip(x, min=0); clip(x, 0, 1, out=zeros_like(x)); \
clip(v, w, None); \
clip(x, min=0, max=2); clip(v, 0, 1, dtype="f8", casting="unsafe")
column_stack: column_stack((v, w)); column_stack([x, x])
compress: compress([True, False, True], x, 0); compress(b, v); compress(condition=[0, 1], a=x, axis=1)
concat: concat([x, x]); concat((x, x), axis=1, dtype="c16", casting="same_kind")
concatenate: concatenate([x, x]); concatenate((x, x), 1); concatenate([x, v], axis=None); \
concatenate([v, w], dtype="c16", casting="same_kind"); concatenate([v, w], dtype="i8", casting="unsafe")
convolve: convolve(v, v[:3]); convolve(a=v, v=w[:3], mode="same"); convolve(v, w, "valid")
copy: copy(x); copy(a=x, order="K")
copysign: copysign(v, w); copysign(v, -1)
corrcoef: corrcoef(x); corrcoef(v, w, rowvar=False); \
corrcoef(x, dtype="f8")
correlate: correlate(v, w[:3]); correlate(a=v, v=w[:3], mode="same"); correlate(c, c[:4], "full"); \
correlate(v[:2], w, "same")
count_nonzero: count_nonzero(x); count_nonzero(i, 1, keepdims=True)
cov: cov(x); cov(m=v, y=w, rowvar=True, bias=True); cov(x, ddof=0); \
cov(x, fweights=[1, 2, 1, 1], aweights=arange(1, 5)); \
cov(x, dtype="f8")
cross: cross(m, m[::-1]); cross(m, h, axisa=0, axisb=1, axisc=0); cross(a=m, b=h, axis=0)
cumprod: cumprod(x); cumprod(x, 1); cumprod(a=x, axis=0, dtype="f8")
cumsum: cumsum(x); cumsum(x, 1, out=zeros_like(x)); cumsum(a=k, dtype=float); cumsum(b)
cumulative_prod: cumulative_prod(v, include_initial=True); \
cumulative_prod(x, axis=1, dtype="f8")
cumulative_sum: cumulative_sum(x, axis=1, include_initial=True); \
cumulative_sum(x, axis=0, dtype="f8")
delete: delete(v, 2); delete(arr=x, obj=[0, 2], axis=1); delete(x, slice(1), 0)
diag: diag(v); diag(v=x, k=1)
diag_indices: diag_indices(3); diag_indices(n=2, ndim=3)
diag_indices_from: diag_indices_from(m)
diagflat: diagflat(v[:2], -1)
diagonal: diagonal(x); diagonal(a=x, offset=1, axis1=1, axis2=0)
diff: diff(v); diff(a=x, n=2, axis=0); diff(v, prepend=0, append=[1, 2]); diff(b)
digitize: digitize(v, o); digitize(x=v, bins=o, right=True)
divide: divide(v, 2); divide(v, w, dtype="f8"); divide(i, 2)
divmod: divmod(v, 2); divmod(k, 3); \
divmod(v, 2, dtype="f8"); divmod(k, 3, signature="ll->ll")
dot: dot(x, x.T); dot(v, w); dot(z, x); dot(a=m, b=m, out=zeros_like(m))
dsplit: dsplit(ones((2, 2, 4)), 2)
dstack: dstack([v, w]); dstack((x, x))
ediff1d: ediff1d(v); ediff1d(ary=x, to_end=[1, 2], to_begin=-1)
einsum: einsum("ij,jk->ik", m, m); einsum("ii", m, optimize=True); einsum(m, [0, 1], m, [1, 2], [0, 2]); \
einsum("i,i", v, w, dtype="f8", casting="safe"); einsum("...j->...", x)
einsum_path: einsum_path("ij,jk,kl->il", m, m, m)[0]; \
einsum_path("ij,jk,kl->il", m, m, m, optimize="greedy")[0]; \
einsum_path("ij,jk->ik", m, m, optimize=False, einsum_call=False)[0]
empty: shape(empty(3)); shape(empty((2, 3), int, "C"))
empty_like: shape(empty_like(x)); shape(empty_like(x, int, shape=(2,)))
equal: equal(x, x); equal(i, 0)
exp: exp(v); exp(c); exp(v * 1.0, where=b, out=zeros_like(v * 1.0)); exp(v, dtype="f8")
expand_dims: expand_dims(x, 0); expand_dims(a=x, axis=(0, -1))
extract: extract(x > 0, x); extract(condition=b, arr=v)
eye: eye(3); eye(3, 4, 1, int, "F"); eye(N=2, M=3, k=-1)
fabs: fabs(v)
fix: fix(v); fix(x=v * 3)
flatnonzero: flatnonzero(x)
flip: flip(x); flip(m=x, axis=0); flip(x, (0, 1))
fliplr: fliplr(x)
flipud: flipud(x)
float_power: float_power(abs(v), 2); float_power(k, 2)
floor: floor(v * 3); floor(i)
floor_divide: floor_divide(v, 2); floor_divide(k, 3)
fmax: fmax(n, 0)
fmin: fmin(n, 0)
fmod: fmod(v, 2); fmod(k, 3)
frexp: frexp(v); frexp(k); \
frexp(v, signature="d->di")
from_dlpack: from_dlpack(x); from_dlpack(x, device="cpu", copy=True)
frombuffer: frombuffer(b"abcdefgh", "u1"); frombuffer(b"abcdefgh", dtype="u2", count=2, offset=2)
fromfunction: fromfunction(lambda i, j: i + j, (2, 3)); \
fromfunction(lambda i, j, p=1: i + p * j, (2, 3), dtype=int, p=3)
fromiter: fromiter(range(3), int); fromiter(range(9), float, count=4)
fromstring: fromstring("1 2 3", int, sep=" ")
full: full(3, 7); full((2,), 1.5, "f4"); full(shape=(2, 2), fill_value=[1, 2], dtype=int)
full_like: full_like(x, 3); full_like(x, 3, int, shape=2)
gcd: gcd(i, 6); gcd(k, k[::-1])
geomspace: geomspace(1, 256, 9); geomspace([1, 2], [100, 200], 4, axis=1); geomspace(1, 1000, num=3, endpoint=False); \
geomspace(1, 256, 9, dtype="f8")
gradient: gradient(v); gradient(x, 2.0, axis=0); gradient(v, o, edge_order=2); gradient(x)
greater: greater(x, 0)
greater_equal: greater_equal(x, 0)
hamming: hamming(1); hamming(8)
hanning: hanning(1); hanning(8)
heaviside: heaviside(v, 0.5)
histogram: histogram(v); histogram(a=v, bins=3, range=(-1, 1), density=True, weights=q); histogram(v, o)
histogram2d: histogram2d(v, w, 3); histogram2d(v, w, [2, 3], [[-1, 1], [0, 1]], density=True); \
histogram2d(x=v, y=w, bins=o, weights=q)
histogram_bin_edges: histogram_bin_edges(v, 3); histogram_bin_edges(v, bins="auto", range=(0, 1)); \
histogram_bin_edges(v, bins=2, weights=q)
histogramdd: histogramdd(x, (2, 3, 2, 2)); histogramdd((v, w), bins=2, density=True); \
histogramdd((v, w), bins=2, range=[(-1, 1), (0, 2)], weights=q)
hsplit: hsplit(x, 2); hsplit(v, [2])
hstack: hstack([v, w]); hstack([x, x], dtype="c16", casting="same_kind")
hypot: hypot(v, w)
i0: i0(v); i0(x=[0.0, 1.0, 20.0])
identity: identity(3); identity(2, int)
imag: imag(c); imag(x)
indices: indices((2, 3)); indices((2, 3), dtype=float); indices(dimensions=(2, 2), sparse=True)
inner: inner(x, x); inner(v, w); inner(z, v)
insert: insert(v, 1, 5); insert(arr=x, obj=1, values=9, axis=0); insert(v, [0, 2], [7, 8])
interp: interp(q, o, w); interp(x=7.0, xp=o, fp=w, left=-1, right=-2); interp(v, o, w, period=3)
intersect1d: intersect1d(k, i); intersect1d(ar1=k, ar2=i, return_indices=True); \
intersect1d([1, 2], [2, 3], assume_unique=True)
invert: invert(i); invert(b)
isclose: isclose(x, x + 1e-9); isclose(a=n, b=n, equal_nan=True); \
isclose(v, v + 0.1, rtol=0.1, atol=0.2)
iscomplex: iscomplex(c); iscomplex(v)
iscomplexobj: iscomplexobj(c); iscomplexobj(v)
isdtype: isdtype(x.dtype, "real floating"); isdtype(dtype=k.dtype, kind=("integral", "bool"))
isfinite: isfinite(n)
isin: isin(i, [1, 2]); isin(element=k, test_elements=i, assume_unique=True, invert=True, kind="sort")
isinf: isinf(n / 0.0)
isnan: isnan(n)
isneginf: isneginf(v)
isposinf: isposinf(v)
isreal: isreal(c); isreal(v)
isrealobj: isrealobj(c)
isscalar: isscalar(3.0); isscalar(x)
issubdtype: issubdtype("f4", floating)
iterable: iterable(x); iterable(3)
ix_: ix_([0, 1], [True, False, True])
kaiser: kaiser(1, 2.0); kaiser(M=9, beta=14.0)
kron: kron(v, [1, 2]); kron(m, x)
lcm: lcm(i, 6)
ldexp: ldexp(v, 3); ldexp(v, k)
left_shift: left_shift(k, 2)
less: less(x, 0)
less_equal: less_equal(x, 0)
lexsort: lexsort((i[0], i[1])); lexsort(keys=i, axis=0)
linspace: linspace(0, 1, 5); linspace(0, 1, 5, retstep=True); linspace([0, 1], [2, 5], 5, axis=1); \
linspace(0, 10, 4, True, False, int); linspace(start=0, stop=1, num=3, endpoint=False)
log: log(abs(v) + 1); log(c)
log10: log10(abs(v) + 1)
log1p: log1p(abs(v))
log2: log2(abs(v) + 1)
logaddexp: logaddexp(v, w)
logaddexp2: logaddexp2(v, w)
logical_and: logical_and(x, 1); logical_and(b, b[::-1])
logical_not: logical_not(x)
logical_or: logical_or(x, 0)
logical_xor: logical_xor(x, 1)
logspace: logspace(0, 2, 3); logspace([0, 1], 2, 3, base=2, axis=-1); logspace(0, 2, 3, dtype=int); \
logspace(0, 2, num=4, endpoint=False)
mask_indices: mask_indices(3, triu, 1)
matmul: matmul(m, h); matmul(x, x.T, dtype="c16"); matmul(x[None], x.T[None], axes=[(-2, -1), (-2, -1), (0, 1)]); \
matmul(m, h, axes=[(1, 0), (0, 1), (1, 0)])
matrix_transpose: matrix_transpose(x)
matvec: matvec(x, x[0])
max: max(x); max(x, 1); max(a=x, axis=0, keepdims=True, initial=1); max(x, where=x > 0, initial=0); max(n)
maximum: maximum(v, w); maximum(x, 0, out=zeros_like(x))
mean: mean(x); mean(x, 1, "f8"); mean(a=x, axis=0, keepdims=True, where=x > 0); mean(i)
median: median(x); median(a=x, axis=1, overwrite_input=True, keepdims=True); median(n)
meshgrid: meshgrid(v, w); meshgrid(v, w[:2], indexing="ij", sparse=True, copy=False)
min: min(x); min(a=x, axis=0, keepdims=True, initial=1); min(x, where=x > 0, initial=9)
minimum: minimum(v, w)
mod: mod(v, 2); mod(k, 3)
modf: modf(v * 3); modf(k); \
modf(v, dtype="f8"); modf(v, signature="d->dd")
moveaxis: moveaxis(ones((2, 3, 4)), 0, -1); moveaxis(a=ones((2, 3, 4)), source=(0, 1), destination=(1, 2))
multiply: multiply(v, w); multiply(x, 2, dtype="c16"); multiply(x, 2, where=x > 0, out=zeros_like(x))
nan_to_num: nan_to_num(n); nan_to_num(x=n / 0.0, copy=True, nan=1.0, posinf=2.0, neginf=3.0)
nanargmax: nanargmax(n); nanargmax(n[None], axis=1); \
nanargmax(n[None], axis=0, keepdims=True)
nanargmin: nanargmin(n); \
nanargmin(n[:1], axis=0, keepdims=True)
nancumprod: nancumprod(n); nancumprod(a=n, axis=0); \
nancumprod(n, dtype="f8")
nancumsum: nancumsum(n); nancumsum(a=n, axis=0); \
nancumsum(n, dtype="f8")
nanmax: nanmax(n); nanmax(n, 0, keepdims=True, initial=9, where=b)
nanmean: nanmean(n); nanmean(n, 0, where=b); \
nanmean(n, 0, "f8", keepdims=True)
nanmedian: nanmedian(n); nanmedian(n, axis=0, keepdims=True); \
nanmedian(n, overwrite_input=True)
nanmin: nanmin(n); nanmin(n, 0, keepdims=True, initial=-9, where=b)
nanpercentile: nanpercentile(n, 30); nanpercentile(n, [30, 40], method="weibull", keepdims=True); \
nanpercentile(n, 30, 0, overwrite_input=True); \
nanpercentile(n, 30, method="inverted_cdf", weights=q)
nanprod: nanprod(n); nanprod(n, 0, initial=2, where=b); \
nanprod(n, 0, "f8", keepdims=True)
nanquantile: nanquantile(n, 0.3); nanquantile(n, 0.3, method="inverted_cdf", weights=q); \
nanquantile(n, [0.3, 0.5], axis=0, overwrite_input=True, keepdims=True)
nanstd: nanstd(n); nanstd(n, ddof=1, where=b); \
nanstd(n, 0, "f8", keepdims=True); nanstd(n, correction=1); nanstd(n, 0, mean=nanmean(n, 0, keepdims=True))
nansum: nansum(n); nansum(n, 0, initial=2, where=b); \
nansum(n, 0, "f8", keepdims=True)
nanvar: nanvar(n); nanvar(n, 0, "f8", ddof=1, keepdims=True); \
nanvar(n, 0, where=b); nanvar(n, correction=1); nanvar(n, 0, mean=nanmean(n, 0, keepdims=True))
ndim: ndim(x); ndim([[1]])
negative: negative(v)
nextafter: nextafter(v, 9.0)
nonzero: nonzero(x)
not_equal: not_equal(x, 0)
ones: ones(3); ones((2, 3), int, "C"); ones(shape=2, dtype="f4")
ones_like: ones_like(x); ones_like(x, int, shape=(2,))
outer: outer(v, w); outer(a=v, b=x)
packbits: packbits(b); packbits(x > 0, 1); packbits(i, axis=0, bitorder="little")
pad: pad(v, 2); pad(x, 1, "edge"); pad(x, ((1, 2), (3, 4)), mode="constant", constant_values=5); pad(v, 2, "wrap"); \
pad(x, 2, "linear_ramp", end_values=3); pad(x, 1, "mean"); pad(x, 2, "maximum", stat_length=2); pad(v, 3, "median"); \
pad(v, 7, "reflect"); pad(v, 2, "symmetric", reflect_type="odd"); pad(v, 8, "reflect", reflect_type="odd"); \
pad(v, 2, "minimum"); shape(pad(v, 2, "empty"))
partition: partition(v, 2)[2]; partition(x, kth=1, axis=0, kind="introselect")[1]
percentile: percentile(x, 30); percentile(a=x, q=[20, 50], axis=1, method="hazen", keepdims=True); \
percentile(v, 30, overwrite_input=True); percentile(v, 30, method="inverted_cdf", weights=q)
permute_dims: permute_dims(x); permute_dims(x, (1, 0))
piecewise: piecewise(v, [v < 0, v > 1], [lambda p: -p, lambda p: p * 2, 5]); piecewise(v, v < 0, [1, 2]); \
piecewise(v, [v < 0], [lambda p, r, t=0: p * r + t, 1], 2, t=3)
poly: poly(v[:3]); poly(m)
polyadd: polyadd([1, 2], v)
polyder: polyder(v); polyder(p=v, m=2)
polydiv: polydiv([3.0, 5, 2], [2, 1.0])
polyfit: polyfit(o, w, 2); polyfit(x=o, y=w, deg=1, full=True); polyfit(o, w, 1, w=q + 1, cov=True); \
polyfit(o, w, 1, rcond=1e-3)
polyint: polyint(v); polyint(p=v, m=2, k=[1, 2])
polymul: polymul([0, 1, 2], [3, 4])
polysub: polysub([1, 2], v)
polyval: polyval([1, 2, 3], x); polyval(p=v, x=2)
power: power(v, 2); power(abs(v), 0.5); power(k, 2)
prod: prod(x); prod(a=x, axis=0, keepdims=True, initial=2); prod(x, 1, "f8", where=x > 0); prod(b)
promote_types: promote_types("i4", "i8")
ptp: ptp(x); ptp(a=x, axis=0, keepdims=True)
quantile: quantile(x, 0.3); quantile(v, [0.2, 0.7], method="inverted_cdf"); \
quantile(v, 0.4, method="averaged_inverted_cdf"); \
quantile(v, 0.4, method="closest_observation"); quantile(v, 0.4, method="interpolated_inverted_cdf"); \
quantile(v, 0.4, method="hazen"); quantile(v, 0.4, method="weibull"); quantile(v, 0.4, method="median_unbiased"); \
quantile(v, 0.4, method="normal_unbiased"); quantile(v, 0.4, method="lower"); quantile(v, 0.4, method="higher"); \
quantile(v, 0.4, method="midpoint"); quantile(v, 0.4, method="nearest"); \
quantile(a=x, q=0.5, axis=1, keepdims=True, method="inverted_cdf", weights=x * x + 1); \
quantile(v, 0.3, overwrite_input=True)
ravel: ravel(x); ravel(a=x, order="F")
ravel_multi_index: ravel_multi_index(([1, 2], [0, 3]), (3, 4)); \
ravel_multi_index(([1, 5], [0, -3]), (3, 4), mode=("wrap", "clip"), order="F")
real: real(c); real(x); real(b)
real_if_close: real_if_close(c); real_if_close(c.real + 0j, tol=1000)
reciprocal: reciprocal(v + 10.0)
remainder: remainder(v, 2); remainder(k, 3)
repeat: repeat(v, 2); repeat(x, 2, 0); repeat(a=v, repeats=[1, 2, 0, 1, 1, 1], axis=0)
require: require(x); require(a=x, dtype="f8", requirements=["C"])
reshape: reshape(x, (4, 3)); reshape(x, shape=-1, order="F"); reshape(x, (2, 6), copy=True)
resize: resize(v, (2, 5)); resize(a=x, new_shape=(2, 2))
result_type: result_type("i4", "i8")
right_shift: right_shift(k, 1)
rint: rint(v * 3)
roll: roll(v, 2); roll(x, 1, 0); roll(a=x, shift=(1, 2), axis=(0, 1))
rollaxis: rollaxis(ones((2, 3, 4)), 2); rollaxis(a=ones((2, 3, 4)), axis=0, start=3)
roots: sort(roots([1.0, -3, 2]))
rot90: rot90(x); rot90(m=x, k=2, axes=(1, 0))
round: round(v); round(x, 2); round(a=x * 100, decimals=-1); round(i, -1)
row_stack: row_stack([v, w]); row_stack(tup=[x, x], dtype="c16", casting="same_kind")
searchsorted: searchsorted(o, v); searchsorted(a=v, v=w, side="right", sorter=argsort(v))
select: select([x > 1, x < 0], [x, x * 10], -1); select(condlist=[b], choicelist=[v])
setdiff1d: setdiff1d(k, i); setdiff1d(ar1=k, ar2=[1], assume_unique=False)
setxor1d: setxor1d(k, i); setxor1d(ar1=k, ar2=[1], assume_unique=False)
shape: shape(x); shape([[1, 2]])
sign: sign(v); sign(c)
signbit: signbit(v)
sin: sin(v); sin(c); sin(v, dtype="f8")
sinc: sinc(v)
size: size(x); size(x, 1); size(a=x, axis=0)
sort: sort(x); sort(a=x, axis=0, kind="stable"); sort(x, None); sort(c); sort(n); \
sort(v, stable=True)
sort_complex: sort_complex(c); sort_complex(v)
spacing: spacing(v * 1.0)
split: split(v, 3); split(ary=x, indices_or_sections=[1, 2], axis=1)
sqrt: sqrt(abs(v)); sqrt(c); sqrt(abs(v * 1.0), where=b, out=zeros_like(v * 1.0))
square: square(v); square(c)
squeeze: squeeze(x[None]); squeeze(a=x[None, :, None], axis=0)
stack: stack([v, w]); stack([v, w], 1, dtype="c16", casting="same_kind")
std: std(x); std(x, 1, "f8", ddof=1); std(a=x, axis=0, keepdims=True, where=x > -9, mean=mean(x, 0, keepdims=True)); \
std(x, correction=1)
subtract: subtract(v, w); subtract(3, x)
sum: sum(x); sum(x, 1, "f8"); sum(a=x, axis=0, keepdims=True, initial=5); sum(x, where=x > 0); sum(b); sum(i, (0, 1))
swapaxes: swapaxes(x, 0, 1); swapaxes(a=x, axis1=-1, axis2=0)
take: take(v, [0, 2]); take(x, [1], 0); take(a=v, indices=[9, -9], mode="wrap"); take(v, [9, -9], None, None, "clip")
take_along_axis: take_along_axis(x, argsort(x, 1), 1); take_along_axis(arr=v, indices=asarray([0, 1]), axis=None)
tensordot: tensordot(m, h); tensordot(a=x, b=x, axes=([0], [0])); tensordot(v, w, 0)
tile: tile(v, 2); tile(A=x, reps=(2, 1, 2))
trace: trace(m); trace(a=x, offset=1, axis1=1, axis2=0, dtype="f8")
transpose: transpose(x); transpose(a=ones((2, 3, 4)), axes=(2, 0, 1))
trapezoid: trapezoid(v); trapezoid(y=v, x=o); trapezoid(x, dx=2, axis=0)
tri: tri(3); tri(N=3, M=4, k=-1, dtype=int)
tril: tril(x); tril(m=x, k=1)
tril_indices: tril_indices(3); tril_indices(n=3, k=1, m=4)
tril_indices_from: tril_indices_from(x, 1)
trim_zeros: asarray(trim_zeros(pad(x, 2))); trim_zeros(filt=pad(v, 2), trim="f")[:]; \
asarray(trim_zeros(pad(x, 2), axis=1))
triu: triu(x); triu(m=x, k=1)
triu_indices: triu_indices(3); triu_indices(n=3, k=1, m=4)
triu_indices_from: triu_indices_from(x); \
triu_indices_from(x, k=1)
true_divide: true_divide(i, 2)
trunc: trunc(v * 3)
union1d: union1d(k, i)
unique: unique(i); unique(ar=k, return_index=True, return_inverse=True, return_counts=True); unique(i, axis=0); \
unique(n, equal_nan=False); unique(k, sorted=True)
unique_all: unique_all(k)
unique_counts: unique_counts(k)
unique_inverse: unique_inverse(k)
unique_values: sort(unique_values(k))
unpackbits: unpackbits(k.astype("u1")); unpackbits(i.astype("u1"), 1, 3, "little"); \
unpackbits(k.astype("u1"), count=-2)
unravel_index: unravel_index([5, 7], (3, 4)); unravel_index(indices=5, shape=(3, 4), order="F")
unstack: unstack(x); unstack(x, axis=1)
unwrap: unwrap(v * 5); unwrap(p=x * 5, discont=4.0, axis=0, period=5.0); unwrap([0, 170, -170, 0], period=360)
vander: vander(v, 3); vander(x=k, N=2, increasing=True)
var: var(x); var(x, 1, "f8", ddof=1); var(a=x, axis=0, keepdims=True, where=x > -9); var(c); var(x, correction=1); \
var(x, 1, mean=mean(x, 1, keepdims=True))
vdot: vdot(c, c); vdot(x, x)
vecdot: vecdot(x, x); vecdot(c, c); vecdot(x, x, axis=0); \
vecdot(x, x, axes=[0, 0]); vecdot(x, x, keepdims=True)
vecmat: vecmat(x[0, :3], m); vecmat(c[:3], m)
vsplit: vsplit(x, 3); vsplit(x, [1])
vstack: vstack([v, w]); vstack([x, x], dtype="c16", casting="same_kind")
where: where(x > 0); where(x > 0, x, 0); where(b, v, w)
zeros: zeros(3); zeros(3, int); zeros((2, 3), "f4", "C"); zeros(shape=2, dtype=bool)
zeros_like: zeros_like(x); zeros_like(x, int, shape=(2,))
c_: c_[v, w]
r_: r_[v, 0, w]; r_[1:4, 0, 4.0]
s_: s_[1:2]
index_exp: index_exp[1:2]
mgrid: mgrid[0:2, 0:3]; mgrid[0:1:3j]
ogrid: ogrid[0:2, 0:1:3j]
ndindex: list(ndindex(2, 2))
ndenumerate: list(ndenumerate(k))
vectorize: vectorize(lambda p, r: p + r)(v, 3)
"""

# what writes to its first operand, which is what is compared then
WRITING = r"""
copyto: copyto(x, 5); copyto(x, x[0], where=[True, False, True, True]); copyto(dst=x, src=7, casting="unsafe")
fill_diagonal: fill_diagonal(x, 7); fill_diagonal(a=x, val=[1, 2], wrap=True)
place: place(x, x > 0, [1, 2]); place(arr=x, mask=x < 9, vals=[3])
put: put(x, [0, -2], [9, 8]); put(a=x, ind=[50], v=[1], mode="wrap"); put(x, [-50, 50], 4, "clip")
put_along_axis: put_along_axis(x, argmax(x, 1, keepdims=True), 9, 1)
putmask: putmask(x, x > 0, [1, 2, 3])
"""


def listed(text: str) -> dict[str, list[str]]:
    """Return the calls of each name."""
    found = {}
    for line in text.replace("\\\n", "").strip().splitlines():
        name, _, calls = line.partition(": ")
        found[name] = [call.strip() for call in calls.split(";")]
    return found
