"""Calls of every public function, among them those with nothing to do, which might hand their operand back.

Each call is an expression over the operands of `operands`; elementwise functions have theirs from the rows that
generate them.
"""

from __future__ import annotations

import inspect
import types

import numpy as np

import tensorframe as tfr
from tensorframe import dtypes
from tensorframe.frontend.elementwise.functions import FUNCTIONS
from tensorframe.graph.op import Kind, rows


def operands():
    """Arrays of their own for one call, by name."""
    return {
        "x": np.asarray([4.0, 1.0, 3.0, 2.0], "float32"),
        "o": np.asarray([1.0, 2.0, 3.0, 4.0], "float32"),  # in order
        "m": np.asarray([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]], "float32"),
        "t": np.arange(8.0, dtype="float32").reshape(2, 2, 2) + 1,
        "r": np.asarray([[1.0, 2.0, 3.0, 4.0]], "float32"),  # a row
        "e": np.asarray([3.0], "float32"),  # one element
        "z": np.asarray(3.0, "float32"),  # no axes
        "n": np.asarray([[3.0]], "float32"),
        "h": np.asarray([0.25, 0.5]),  # float64, from 0 to 1
        "i": np.asarray([0, 2, 1, 3]),
        "k": np.asarray([[0, 2, 1], [2, 1, 0], [1, 0, 2]]),
        "b": np.asarray([True, False, True, True]),
        "c": np.asarray([1 + 2j, 3 - 1j], "complex64"),
    }


# several calls of a function are separated by semicolons
CALLS = """
all: all(b); all(b, axis=()); all(z)
any: any(b); any(b, axis=()); any(z)
angle: angle(x); angle(c); angle(e, True)
apply_along_axis: apply_along_axis(lambda v: v, 0, m); apply_along_axis(lambda v: v[:1], 1, m); \
apply_along_axis(lambda v: v, 0, x)
apply_over_axes: apply_over_axes(lambda a, axis: a, m, (0, 1)); apply_over_axes(sum, m, 0)
array_repr: array_repr(x)
array_str: array_str(x)
array2string: array2string(x)
asanyarray: asanyarray([x]); asanyarray(x, "float64")
asarray_chkfinite: asarray_chkfinite([x])
ascontiguousarray: ascontiguousarray([x]); ascontiguousarray(z)
asfortranarray: asfortranarray([x]); asfortranarray(z)
bitwise_count: bitwise_count(i); bitwise_count(k)
choose: choose(i, [x, o, x, o]); choose(k, m); choose(z.astype(int) - 3, [x])
compress: compress(b, x); compress([True] * 4, x); compress([True] * 3, m, axis=0)
copyto: copyto(x * 1, o)
correlate: correlate(x, e); correlate(e, e); correlate(x, o, "same")
divmod: divmod(x, 1)[0]; divmod(x, o)[1]
extract: extract(b, x); extract([True] * 4, x)
fill_diagonal: fill_diagonal(m * 1, 0)
fabs: fabs(x)
fix: fix(x); fix(i)
float_power: float_power(x, 1); float_power(o, e)
frexp: frexp(x)[0]; frexp(e)[1]
gcd: gcd(i, i); gcd(k, 0)
histogram2d: histogram2d(x, o); histogram2d(x, o, bins=[o, o])
histogramdd: histogramdd(m); histogramdd((x, o), 2)
i0: i0(x)
iscomplex: iscomplex(x); iscomplex(c)
isreal: isreal(x); isreal(c)
ix_: ix_(i, i); ix_(b)
lcm: lcm(i, i)
ldexp: ldexp(x, 0); ldexp(x, i)
lexsort: lexsort((x, o)); lexsort((i,)); lexsort(m)
logaddexp2: logaddexp2(x, o)
matvec: matvec(m, m[0]); matvec(n, e)
modf: modf(x)[0]; modf(x)[1]
nancumprod: nancumprod(x); nancumprod(e); nancumprod(i)
packbits: packbits(b); packbits(i, 0)
piecewise: piecewise(x, [b], [o]); piecewise(x, [b], [lambda v: v, 0]); piecewise(x, [x > -9.0], [lambda v: v])
place: place(x * 1, b, o)
poly: poly(x); poly(m)
polyadd: polyadd(x, []); polyadd(x, o); polyadd(x, e)
polyder: polyder(x, 0); polyder(x); polyder(e)
polydiv: polydiv(x, e)[0]; polydiv(x, o)[1]
polyfit: polyfit(o, x, 1); polyfit(e, e, 0)
polyint: polyint(x, 0); polyint(x)
polymul: polymul(x, e); polymul(x, o)
polysub: polysub(x, []); polysub(x, o)
polyval: polyval(e, x); polyval(x, o); polyval(x, z)
put: put(x * 1, i, o)
putmask: putmask(x * 1, b, o)
ravel_multi_index: ravel_multi_index((i,), (4,)); ravel_multi_index((i, i), (4, 4))
real_if_close: real_if_close(x); real_if_close(c); real_if_close(c * 0)
resize: resize(x, 4); resize(x, (2, 2)); resize(m, (3, 3)); resize(e, ())
rint: rint(x); rint(i)
roots: roots(x)
select: select([b], [x], o); select([b, b], [x, o]); select([x > -9.0], [x], x)
setxor1d: setxor1d(x, []); setxor1d(x, e)
sort_complex: sort_complex(c); sort_complex(x)
spacing: spacing(x)
tensorinv: linalg.tensorinv(m, 1)
tensorsolve: linalg.tensorsolve(m, m[0])
trim_zeros: trim_zeros(x); trim_zeros(m); trim_zeros(x, "f")
unpackbits: unpackbits(i.astype("uint8")); unpackbits(i.astype("uint8"), 0, 4)
unravel_index: unravel_index(i, (4,)); unravel_index(i, (2, 2))
unwrap: unwrap(x); unwrap(e); unwrap(i, period=4)
vander: vander(x, 1); vander(x, 2); vander(x)
vecmat: vecmat(m[0], m); vecmat(e, n)
append: append(x, o); append(x, []); append(x, [], axis=0); append([], x)
argmax: argmax(x)
argmin: argmin(x)
argpartition: argpartition(x, 2)
argsort: argsort(x); argsort(e)
argwhere: argwhere(x)
array: array(x); array(x, copy=True); array(x, x.dtype)
array_split: array_split(x, 1); array_split(x, 2); array_split(x, [])
asarray: asarray(x, copy=True); asarray([x]); asarray([[x, o]]); asarray(x, dtype="float64")
astype: astype(x, "float32"); astype(x, "float64"); astype(x, "float64", copy=False)
atleast_1d: atleast_1d(x); atleast_1d(z); atleast_1d(x, m); atleast_1d(x, x)
atleast_2d: atleast_2d(m); atleast_2d(x); atleast_2d(m, m)
atleast_3d: atleast_3d(t); atleast_3d(m); atleast_3d(t, t)
average: average(x, weights=o); average(x, axis=()); average(x, weights=o, returned=True); \
average(e, weights=e, axis=0, returned=True)
bincount: bincount(i); bincount(i, weights=x)
block: block(x); block([x]); block([[m]]); block([[m, m]])
broadcast_arrays: broadcast_arrays(x); broadcast_arrays(x, o); broadcast_arrays(x, x); broadcast_arrays(r, z)
broadcast_to: broadcast_to(x, (4,)); broadcast_to(x, (2, 4))
choice: random.choice(x, 2, key=random.key(0)); random.choice(x, 2, p=o, key=random.key(0)); \
random.choice(e, 1, key=random.key(0))
clip: clip(x); clip(x, None, None); clip(x, 1, 2); clip(x, o, o); clip(b); clip(i, 0, 2)
column_stack: column_stack([m]); column_stack([x, x]); column_stack([x])
concat: concat([x]); concat([m], axis=1); concat([x], axis=None); concat([m], axis=None); concat(r); concat([x, x]); \
concat([x], dtype="float32")
convolve: convolve(x, o); convolve(x, e); convolve(e, e)
corrcoef: corrcoef(m); corrcoef(x, o)
count_nonzero: count_nonzero(x); count_nonzero(i, axis=())
cov: cov(m); cov(x, o); cov(m, fweights=[1, 2, 1]); cov(m, aweights=m[0])
cross: cross(m[0], m); linalg.cross(m, m)
cumprod: cumprod(x); cumprod(e)
cumsum: cumsum(x); cumsum(e)
cumulative_prod: cumulative_prod(x); cumulative_prod(e); cumulative_prod(x, include_initial=True)
cumulative_sum: cumulative_sum(x); cumulative_sum(e); cumulative_sum(x, include_initial=True)
delete: delete(x, []); delete(x, 0); delete(x, i[:1])
diag: diag(x); diag(m); diag(e); diag(n)
diagflat: diagflat(x); diagflat(e); diagflat(n)
diagonal: diagonal(m); diagonal(n); linalg.diagonal(m); linalg.diagonal(t)
diff: diff(x, 0); diff(x); diff(x, 0, prepend=e); diff(x, append=e); diff(m, 0, axis=0)
digitize: digitize(x, o); digitize(x, o[::-1]); digitize(x, o, right=True)
dot: dot(x, o); dot(z, x); dot(m, m)
dsplit: dsplit(t, 1); dsplit(t, 2); dsplit(t, [])
dstack: dstack([t]); dstack([x]); dstack([m, m])
ediff1d: ediff1d(x); ediff1d(e, to_end=o); ediff1d(e, to_begin=x); ediff1d(x, to_begin=e, to_end=e)
einsum: einsum("i->i", x); einsum("ij->ij", m); einsum("ij->ji", m); einsum("ij,jk->ik", m, m); einsum("...", x); \
einsum("i,->i", x, z); einsum("ii->i", m)
empty_like: empty_like(x)
expand_dims: expand_dims(x, ()); expand_dims(x, 0)
eye: eye(3)
flatnonzero: flatnonzero(x)
flip: flip(x); flip(x, axis=()); flip(e); flip(z)
fliplr: fliplr(m); fliplr(m[:, :1])
flipud: flipud(m); flipud(r); flipud(e)
from_dlpack: from_dlpack(x); from_dlpack(x, copy=True)
full: full((4,), x); full((4,), z); full((2, 4), x); full((4,), 1, dtype="float32"); full((4,), x, dtype="float32")
full_like: full_like(x, o); full_like(x, z); full_like(x, 1)
geomspace: geomspace(1.0, 8.0, 4)
gradient: gradient(x); gradient(x, o); gradient(m); gradient(m, axis=0)
histogram: histogram(x, bins=o); histogram(x, bins=o, weights=x); histogram(x, 2); histogram(x, o, density=True)
histogram_bin_edges: histogram_bin_edges(x, bins=o); histogram_bin_edges(x, 2); histogram_bin_edges(x, "auto")
hsplit: hsplit(m, 1); hsplit(x, 1); hsplit(x, 2)
hstack: hstack([x]); hstack([m]); hstack([z]); hstack([x, x]); hstack([e])
index_add: index_add(x, i, o); index_add(x, i[:0], o[:0]); index_add(m, (), 0.0); index_add(x, slice(0), 1.0)
inner: inner(x, o); inner(z, x); inner(m, m)
insert: insert(x, [], []); insert(x, 0, o); insert(x, 1, z); insert(m, 1, m[0], axis=0); insert([], 0, x)
intersect1d: intersect1d(x, o); intersect1d(x, o, assume_unique=True); intersect1d(x, o, return_indices=True)
interp: interp(x, o, x); interp(z, o, x); interp(o, o, x)
isclose: isclose(x, o)
isin: isin(x, o); isin(x, [])
kron: kron(x, o); kron(z, x); kron(e, x)
log_softmax: log_softmax(x); log_softmax(e); nn.functional.log_softmax(x)
logsumexp: logsumexp(x); logsumexp(x, axis=()); logsumexp(z)
matmul: matmul(m, m); linalg.matmul(m, m)
matrix_transpose: matrix_transpose(m); matrix_transpose(n); linalg.matrix_transpose(n)
max: max(x); max(x, axis=()); max(z); max(e, axis=0)
mean: mean(x); mean(x, axis=()); mean(z); mean(e, axis=0)
median: median(x); median(x, axis=()); median(z); median(e, axis=0)
meshgrid: meshgrid(x); meshgrid(x, o); meshgrid(x, indexing="ij"); meshgrid(x, sparse=True); meshgrid(x, x)
min: min(x); min(x, axis=()); min(z); min(e, axis=0)
moveaxis: moveaxis(m, 0, 0); moveaxis(m, 0, 1); moveaxis(m, (), ()); moveaxis(x, 0, -1)
nan_to_num: nan_to_num(x); nan_to_num(i); nan_to_num(b); nan_to_num(c); nan_to_num(x, copy=False)
nanargmax: nanargmax(x)
nanargmin: nanargmin(x)
nancumsum: nancumsum(x); nancumsum(i); nancumsum(e)
nanmax: nanmax(x); nanmax(x, axis=()); nanmax(i, axis=()); nanmax(z)
nanmean: nanmean(x); nanmean(x, axis=()); nanmean(z)
nanmedian: nanmedian(x); nanmedian(x, axis=()); nanmedian(z)
nanmin: nanmin(x); nanmin(x, axis=()); nanmin(i, axis=())
nanpercentile: nanpercentile(x, 50); nanpercentile(x, h); nanpercentile(z, 50)
nanprod: nanprod(x); nanprod(i, axis=()); nanprod(x, axis=())
nanquantile: nanquantile(x, 0.5); nanquantile(x, h); nanquantile(x, h[0]); nanquantile(z, 0.5)
nanstd: nanstd(x); nanstd(x, axis=())
nansum: nansum(x); nansum(i, axis=()); nansum(x, axis=()); nansum(x, dtype="float32", axis=())
nanvar: nanvar(x); nanvar(x, axis=())
nonzero: nonzero(x)
ones_like: ones_like(x)
outer: outer(x, o); linalg.outer(x, o); outer(e, e)
pad: pad(x, 0); pad(x, 1); pad(x, 0, "edge"); pad(x, 1, "wrap"); pad(m, 0, "reflect"); pad(x, (0, 0)); \
pad(x, 1, constant_values=z); nn.functional.pad(x, (0, 0)); nn.functional.pad(x, (1, -1)); \
nn.functional.pad(x, (), "reflect"); nn.functional.pad(x, (1, 1), "circular")
partition: partition(x, 1); partition(e, 0)
percentile: percentile(x, 50); percentile(x, h); percentile(x, h * 100); percentile(z, 50)
permute_dims: permute_dims(m, (0, 1)); permute_dims(m, (1, 0)); permute_dims(x, (0,)); permute_dims(z, ())
prod: prod(x); prod(x, axis=()); prod(z); prod(e, axis=0)
ptp: ptp(x); ptp(x, axis=())
quantile: quantile(x, 0.5); quantile(x, h); quantile(x, h[0]); quantile(z, 0.5); quantile(z, h)
ravel: ravel(x); ravel(m); ravel(z); ravel(x, "F"); ravel(m, "F")
repeat: repeat(x, 1); repeat(x, 2); repeat(x, i); repeat(x, 1, axis=0); repeat(m, 1)
reshape: reshape(x, (4,)); reshape(x, -1); reshape(m, (3, 3)); reshape(x, (2, 2)); reshape(x, (4,), copy=False); \
reshape(x, (4,), copy=True); reshape(x, (4,), "F"); reshape(z, ())
roll: roll(x, 0); roll(x, 4); roll(x, 1); roll(m, 0); roll(m, 3, axis=0); roll(m, (0, 0), axis=(0, 1)); roll(z, 0)
rollaxis: rollaxis(m, 0); rollaxis(m, 1); rollaxis(m, 0, 1); rollaxis(x, 0)
rot90: rot90(m, 0); rot90(m, 4); rot90(m); rot90(m, 2); rot90(n, 1)
searchsorted: searchsorted(o, x); searchsorted(o, x, side="right"); searchsorted(x, o, sorter=argsort(x))
segment_max: segment_max(x, i, 4); segment_max(e, [0], 1)
segment_mean: segment_mean(x, i, 4); segment_mean(e, [0], 1)
segment_min: segment_min(x, i, 4); segment_min(e, [0], 1)
segment_prod: segment_prod(x, i, 4); segment_prod(e, [0], 1)
segment_sum: segment_sum(x, i, 4); segment_sum(e, [0], 1)
setdiff1d: setdiff1d(x, []); setdiff1d(x, o); setdiff1d(x, [], assume_unique=True)
softmax: softmax(x); softmax(e); nn.functional.softmax(x); nn.functional.softmax(e)
sort: sort(x); sort(e); sort(o)
split: split(x, 1); split(x, 2); split(x, []); split(x, [2]); random.split(random.key(0), 2)
squeeze: squeeze(x); squeeze(x, ()); squeeze(e); squeeze(z); squeeze(r, 0)
stack: stack([x]); stack([z]); stack(x); stack([x, x], axis=1)
std: std(x); std(x, axis=()); std(z)
sum: sum(x); sum(x, axis=()); sum(z); sum(e, axis=0); sum(x, axis=(), dtype="float32")
swapaxes: swapaxes(m, 0, 0); swapaxes(m, 0, 1); swapaxes(x, 0, 0)
take: take(x, i); take(z, 0); take(m, [0, 1, 2], axis=0); take(x, i[0])
take_along_axis: take_along_axis(x, i); take_along_axis(m, k, axis=0); take_along_axis(x, i, axis=None)
tensordot: tensordot(m, m); tensordot(x, z, axes=0); tensordot(z, x, axes=0); linalg.tensordot(m, m, axes=1)
tile: tile(x, 1); tile(x, ()); tile(x, 2); tile(m, (1, 1)); tile(z, ())
topk: topk(x, 4); topk(e, 1)
trace: trace(m); trace(n); linalg.trace(m)
transpose: transpose(x); transpose(m); transpose(m, (0, 1)); transpose(z); transpose(n)
trapezoid: trapezoid(x); trapezoid(x, o); trapezoid(m, axis=0)
tril: tril(m); tril(m, 5); tril(n)
triu: triu(m); triu(m, -5); triu(n)
union1d: union1d(x, []); union1d(o, o); union1d(x, o)
unique: unique(x); unique(o); unique(x, return_index=True, return_inverse=True, return_counts=True); unique(m, axis=0)
unique_all: unique_all(x)
unique_counts: unique_counts(o)
unique_inverse: unique_inverse(o)
unique_values: unique_values(o); unique_values(e)
unstack: unstack(x); unstack(r); unstack(m, axis=1); unstack(e)
var: var(x); var(x, axis=()); var(z)
vdot: vdot(x, o); vdot(c, c); vdot(z, z)
vecdot: vecdot(x, o); linalg.vecdot(m, m); vecdot(e, x[:1])
vsplit: vsplit(m, 1); vsplit(m, 3); vsplit(r, 1)
row_stack: row_stack([m]); row_stack([x]); row_stack([x, x])
vstack: vstack([m]); vstack([x]); vstack([x, x]); vstack([r])
where: where(b, x, o); where(b, x, x); where(b); where(True, x, x); where(x > 9, 0.0, x)
zeros_like: zeros_like(x)
cholesky: linalg.cholesky(m); linalg.cholesky(n)
cond: linalg.cond(m); linalg.cond(n)
det: linalg.det(m); linalg.det(n)
eig: linalg.eig(m)
eigh: linalg.eigh(m); linalg.eigh(n)
eigvals: linalg.eigvals(m)
eigvalsh: linalg.eigvalsh(m); linalg.eigvalsh(n)
gemm: linalg.gemm(1.0, m, m); linalg.gemm(2.0, m, m, 1.0, m); linalg.gemm(1.0, n, n, trans_a=True)
gemv: linalg.gemv(1.0, m, m[0]); linalg.gemv(2.0, m, m[0], 1.0, m[1])
inv: linalg.inv(m); linalg.inv(n)
lstsq: linalg.lstsq(m, m); linalg.lstsq(m, m[0])
matrix_norm: linalg.matrix_norm(m); linalg.matrix_norm(n)
matrix_power: linalg.matrix_power(m, 1); linalg.matrix_power(m, 0); \
linalg.matrix_power(m, 2); linalg.matrix_power(m, -1)
matrix_rank: linalg.matrix_rank(m)
multi_dot: linalg.multi_dot([m, m]); linalg.multi_dot([m, m, m[0]])
norm: linalg.norm(x); linalg.norm(m); linalg.norm(x, 1)
pinv: linalg.pinv(m); linalg.pinv(n)
qr: linalg.qr(m); linalg.qr(n)
slogdet: linalg.slogdet(m)
solve: linalg.solve(m, m[0]); linalg.solve(n, n)
svd: linalg.svd(m)
svdvals: linalg.svdvals(m)
vector_norm: linalg.vector_norm(x); linalg.vector_norm(x, axis=()); linalg.vector_norm(e); linalg.vector_norm(x, ord=1)
fft: fft.fft(x); fft.fft(c); fft.fft(c[:1])
fft2: fft.fft2(m); fft.fft2(c[:, None])
fftn: fft.fftn(c, axes=()); fft.fftn(x); fft.fftn(c[:1])
fftshift: fft.fftshift(x); fft.fftshift(e); fft.fftshift(x, axes=())
hfft: fft.hfft(c); fft.hfft(c, 1)
ifft: fft.ifft(c); fft.ifft(c[:1])
ifft2: fft.ifft2(m)
ifftn: fft.ifftn(c, axes=()); fft.ifftn(c)
ifftshift: fft.ifftshift(x); fft.ifftshift(e); fft.ifftshift(x, axes=())
ihfft: fft.ihfft(x)
irfft: fft.irfft(c); fft.irfft(c, 1)
irfft2: fft.irfft2(m)
irfftn: fft.irfftn(c); fft.irfftn(c, s=(1,), axes=(0,))
rfft: fft.rfft(x); fft.rfft(e)
rfft2: fft.rfft2(m)
rfftn: fft.rfftn(x); fft.rfftn(e)
bernoulli: random.bernoulli(p=h, key=random.key(0)); random.bernoulli((2, 2), h, key=random.key(0))
exponential: random.exponential(scale=x, key=random.key(0))
normal: random.normal(mean=x, std=o, key=random.key(0)); random.normal(mean=x, std=0.0, key=random.key(0))
permuted: random.permuted(x, key=random.key(0)); random.permuted(m, 0, key=random.key(0))
permutation: random.permutation(x, key=random.key(0)); random.permutation(e, key=random.key(0))
uniform: random.uniform(low=x, high=x, key=random.key(0)); random.uniform(low=0.0, high=o, key=random.key(0))
alpha_dropout: nn.functional.alpha_dropout(x); nn.functional.alpha_dropout(x, training=True, key=random.key(0))
binary_cross_entropy: nn.functional.binary_cross_entropy(h, h, reduction="none")
binary_cross_entropy_with_logits: nn.functional.binary_cross_entropy_with_logits(x, o, reduction="none")
conv1d: nn.functional.conv1d(t, t); nn.functional.conv1d(e[None], e[None, None])
conv2d: nn.functional.conv2d(t, t[None]); nn.functional.conv2d(n[None], n[None, None], e)
conv3d: nn.functional.conv3d(t[None], t[None, None])
conv_transpose1d: nn.functional.conv_transpose1d(t, t)
conv_transpose2d: nn.functional.conv_transpose2d(t[:1], t[None])
conv_transpose3d: nn.functional.conv_transpose3d(t[None], t[None, None])
cosine_embedding_loss: nn.functional.cosine_embedding_loss(m, m, m[0], reduction="none")
cosine_similarity: nn.functional.cosine_similarity(m, m)
ctc_loss: nn.functional.ctc_loss(m, k[0, :1], (3,), (1,)); \
nn.functional.ctc_loss(t, k[:2, :1] // 2, (1, 2), (1, 0), reduction="none")
cross_entropy: nn.functional.cross_entropy(m, k[0], reduction="none"); nn.functional.cross_entropy(m, m)
gaussian_nll_loss: nn.functional.gaussian_nll_loss(x, o, o, reduction="none")
hinge_embedding_loss: nn.functional.hinge_embedding_loss(x, o, reduction="none")
huber_loss: nn.functional.huber_loss(x, o, "none")
kl_div: nn.functional.kl_div(x, o, "none")
l1_loss: nn.functional.l1_loss(x, o, "none")
margin_ranking_loss: nn.functional.margin_ranking_loss(x, o, o, reduction="none")
mse_loss: nn.functional.mse_loss(x, o, "none")
multi_margin_loss: nn.functional.multi_margin_loss(m, k[0], reduction="none")
multilabel_soft_margin_loss: nn.functional.multilabel_soft_margin_loss(m, m, reduction="none")
nll_loss: nn.functional.nll_loss(m, k[0], reduction="none"); nn.functional.nll_loss(e, z.astype("int64") - 3)
pairwise_distance: nn.functional.pairwise_distance(m, m)
poisson_nll_loss: nn.functional.poisson_nll_loss(x, o, reduction="none")
smooth_l1_loss: nn.functional.smooth_l1_loss(x, o, "none"); nn.functional.smooth_l1_loss(e, e, beta=0.0)
soft_margin_loss: nn.functional.soft_margin_loss(x, o, "none")
triplet_margin_loss: nn.functional.triplet_margin_loss(m, m, m, reduction="none")
batch_norm: nn.functional.batch_norm(m, None, None, None, None, True); nn.functional.batch_norm(m, m[0], m[0])
bilinear: nn.functional.bilinear(m, m, m[:, None] * m[None]); nn.functional.bilinear(e, e, t[:1, :1, :1], e)
dropout: nn.functional.dropout(x, 0.0); nn.functional.dropout(x, training=False); \
nn.functional.dropout(x, key=random.key(0))
dropout1d: nn.functional.dropout1d(t, 0.0); nn.functional.dropout1d(t, key=random.key(0))
dropout2d: nn.functional.dropout2d(t, 0.0); nn.functional.dropout2d(t, key=random.key(0))
dropout3d: nn.functional.dropout3d(t[None], 0.0); nn.functional.dropout3d(t[None], key=random.key(0))
embedding: nn.functional.embedding(i[:2], m); nn.functional.embedding(k, m, 0, 2.0, 2.0, True)
group_norm: nn.functional.group_norm(m, 3, m[0], m[1]); nn.functional.group_norm(m, 1)
gru: nn.functional.gru(t[:, :, :1], None, [m[:, :1], m[:, :1]], False)
instance_norm: nn.functional.instance_norm(t); nn.functional.instance_norm(t, None, None, t[0, 0], t[0, 0])
layer_norm: nn.functional.layer_norm(m, 3); nn.functional.layer_norm(x, 4, o, o)
linear: nn.functional.linear(m, m, m[0]); nn.functional.linear(e, n, e); nn.functional.linear(e, e)
local_response_norm: nn.functional.local_response_norm(t, 2); nn.functional.local_response_norm(t, 1)
lstm: nn.functional.lstm(t[:, :, :1], None, [x[:, None], x[:, None]], False)
normalize: nn.functional.normalize(m); nn.functional.normalize(x, dim=0)
one_hot: nn.functional.one_hot(i); nn.functional.one_hot(i, 5)
rms_norm: nn.functional.rms_norm(m, 3); nn.functional.rms_norm(x, 4, o)
rnn: nn.functional.rnn(t[:, :, :1], None, [n, n], False)
rope: nn.functional.rope(t); nn.functional.rope(t, 0); nn.functional.rope(t, scale=0.0)
scaled_dot_product_attention: nn.functional.scaled_dot_product_attention(m, m, m)
celu: nn.functional.celu(x)
elu: nn.functional.elu(x)
gelu: nn.functional.gelu(x)
hardshrink: nn.functional.hardshrink(x)
hardsigmoid: nn.functional.hardsigmoid(x)
hardswish: nn.functional.hardswish(x)
hardtanh: nn.functional.hardtanh(x)
leaky_relu: nn.functional.leaky_relu(x)
logsigmoid: nn.functional.logsigmoid(x)
mish: nn.functional.mish(x)
relu6: nn.functional.relu6(x)
rrelu: nn.functional.rrelu(x); nn.functional.rrelu(x, training=True, key=random.key(0))
selu: nn.functional.selu(x)
softmin: nn.functional.softmin(x)
softplus: nn.functional.softplus(x)
softshrink: nn.functional.softshrink(x)
tanhshrink: nn.functional.tanhshrink(x)
glu: nn.functional.glu(x); nn.functional.glu(x, 0)
gumbel_softmax: nn.functional.gumbel_softmax(x, key=random.key(0)); nn.functional.gumbel_softmax(e, hard=True)
prelu: nn.functional.prelu(x, e); nn.functional.prelu(m, m[0])
swiglu: nn.functional.swiglu(x)
threshold: nn.functional.threshold(x, -9.0, 0.0)
adaptive_avg_pool1d: nn.functional.adaptive_avg_pool1d(m, 3); nn.functional.adaptive_avg_pool1d(m, 2)
adaptive_avg_pool2d: nn.functional.adaptive_avg_pool2d(t, 2); nn.functional.adaptive_avg_pool2d(t, 1)
adaptive_avg_pool3d: nn.functional.adaptive_avg_pool3d(t[None], 2)
adaptive_max_pool1d: nn.functional.adaptive_max_pool1d(m, 3); nn.functional.adaptive_max_pool1d(m, 2, True)
adaptive_max_pool2d: nn.functional.adaptive_max_pool2d(t, 2); nn.functional.adaptive_max_pool2d(t, 3, True)
adaptive_max_pool3d: nn.functional.adaptive_max_pool3d(t[None], 2, True)
avg_pool1d: nn.functional.avg_pool1d(m, 1); nn.functional.avg_pool1d(m, 2)
avg_pool2d: nn.functional.avg_pool2d(t, 1); nn.functional.avg_pool2d(t, 2, padding=1)
avg_pool3d: nn.functional.avg_pool3d(t[None], 1); nn.functional.avg_pool3d(t[None], 2)
fold: nn.functional.fold(n, 1, 1); nn.functional.fold(m[:1], (1, 3), 1); nn.functional.fold(x[:, None], 2, 2)
lp_pool1d: nn.functional.lp_pool1d(m, 1, 1); nn.functional.lp_pool1d(m, 2, 2)
lp_pool2d: nn.functional.lp_pool2d(t, 1, 1); nn.functional.lp_pool2d(t, 2, 2)
lp_pool3d: nn.functional.lp_pool3d(t[None], 2, 2)
max_pool1d: nn.functional.max_pool1d(m, 1); nn.functional.max_pool1d(m, 2, return_indices=True)
max_pool2d: nn.functional.max_pool2d(t, 1); nn.functional.max_pool2d(t, 2, padding=1)
max_pool3d: nn.functional.max_pool3d(t[None], 1); nn.functional.max_pool3d(t[None], 2, return_indices=True)
max_unpool1d: nn.functional.max_unpool1d(m, k, 1); nn.functional.max_unpool1d(m, k, 2)
max_unpool2d: nn.functional.max_unpool2d(n[None], z.astype("int64")[None, None, None] - 3, 1)
max_unpool3d: nn.functional.max_unpool3d(t[None, :1], t[None, :1].astype("int64") - 1, (1, 2, 1))
unfold: nn.functional.unfold(t, 1); nn.functional.unfold(t, 2); nn.functional.unfold(t[:, :1, :1], 1)
channel_shuffle: nn.functional.channel_shuffle(t, 1); nn.functional.channel_shuffle(t, 2)
interpolate: nn.functional.interpolate(t, 2); nn.functional.interpolate(t, scale_factor=1); \
nn.functional.interpolate(t, 3, mode="linear"); nn.functional.interpolate(t, 2, mode="linear"); \
nn.functional.interpolate(t, 2, mode="area")
pixel_shuffle: nn.functional.pixel_shuffle(t, 1); nn.functional.pixel_shuffle(x[:, None, None], 2)
pixel_unshuffle: nn.functional.pixel_unshuffle(t, 1); nn.functional.pixel_unshuffle(t, 2)
raw_kernel: raw_kernel("same", {"x": "T[n]"}, {"y": "T[n]"}, source={"wgsl": ""}, reference=lambda x: x)(\
asarray(x, device="numpy")); \
raw_kernel("two", {"x": "T[n]"}, {"y": "T[n]", "z": "T[n]"}, source={"wgsl": ""}, reference=lambda x: (x, x))(\
asarray(x, device="numpy"))
jit: jit(lambda x: x)(x); jit(lambda x: (x, x))(x); jit(lambda x: {"a": [x, x[1:], x.T]})(x); \
jit(lambda x: jit(lambda y: y)(x))(x); jit(lambda x, y: (y, x))(x, o); jit(lambda d: d)({"a": x, "b": [m]})
grad: grad(sum)(x); grad(lambda x: (x * o).sum())(x); grad(lambda x: (x.sum(), x), has_aux=True)(x)
value_and_grad: value_and_grad(sum)(x); value_and_grad(lambda x: (x.sum(), [x, x[1:]]), has_aux=True)(x)
vmap: vmap(lambda x: x)(x); vmap(lambda x: x[:])(m); vmap(lambda x, y: (x, y), (0, None))(x, o); vmap(lambda x: x)(e)
checkpoint: checkpoint(lambda x: x)(x); checkpoint(lambda x, y: {"a": [x, y[1:]]})(x, o)
custom_gradient: custom_gradient(lambda x: x)(x); custom_gradient(lambda x, y: {"a": [x, y[1:]]})(x, o)
stop_gradient: stop_gradient(x); stop_gradient([x, m])
hessian: hessian(sum)(x); hessian(lambda x: (x * x * o).sum())(x)
hvp: hvp(sum, [x], [o]); hvp(lambda x: (x * x).sum(), [x], [o])
jacobian: jacobian(lambda x: x)(x); jacobian(lambda x: x * o)(x)
jvp: jvp(lambda x: x, [x], [o])[0]; jvp(lambda x: x, [x], [o])[1]; jvp(lambda x, y: y, [x, o], [o, x])
vjp: vjp(lambda x: x, x)[0]; vjp(lambda x: x, x)[1](o)
"""


def _of_rows():
    """Calls of the functions that rows generate, on whatever operand they take."""
    found = {}
    taken = [
        ("x", dtypes.float32),
        ("i", dtypes.int64),
        ("b", dtypes.bool_),
        ("c", dtypes.complex64),
    ]
    for op in rows(Kind.MAP):
        if op.name in FUNCTIONS:
            names = [name for name, dtype in taken if dtype in op.accepts]
            arguments = [(name,) * op.arity for name in names]
            if op.arity == 2 and "x" in names:
                arguments += [("x", "z"), ("e", "x"), ("x", "o")]
            found[op.name] = [f"{op.name}({', '.join(argument)})" for argument in arguments]
    return found


def _listed():
    found = {}
    for line in CALLS.replace("\\\n", "").strip().splitlines():
        name, _, calls = line.partition(": ")
        found[name] = [one.strip() for one in calls.split(";")]
    return found


CALLS_OF = _of_rows() | _listed()

# they take no tensors, or return none that their operands are part of
OTHERS = frozenset(
    """
    Autotuning Benchmark Calibration Device Estimate Generator GradScaler Histogram Key LinAlgError Profile RandomState
    Tensor TopK bytes get_state set_state
    UniqueAll UniqueCounts UniqueInverse Verification allclose arange array_equal array_equiv autocast bartlett
    autotune base_repr bench beta binary_repr binomial blackman broadcast_shapes calibrate can_cast check_gradient
    chisquare compute copy default_rng diag_indices diag_indices_from dirichlet doctor dtype einsum_path
    elementwise empty errstate estimate explain f fftfreq finfo format_float_positional format_float_scientific
    from_native from_reader frombuffer fromfile fromfunction fromiter fromstring gamma genfromtxt geometric
    get_backend get_default_dtype get_printoptions geterr gumbel hamming hanning hypergeometric identity iinfo
    indices integers iscomplexobj isdtype isrealobj isscalar issubdtype iterable kaiser key laplace linspace
    load load_metadata loadtxt logistic lognormal logseries logspace mask_indices multinomial
    multivariate_hypergeometric multivariate_normal ndarray ndenumerate ndim ndindex negative_binomial
    noncentral_chisquare noncentral_f ones pareto poisson poly1d power printoptions profile promote_types
    put_along_axis rand randint randn random_sample rayleigh register_tree require result_type rfftfreq save savetxt
    savez savez_compressed seed set_backend set_backend_priority set_default_dtype set_printoptions seterr shape
    shuffle size standard_cauchy standard_exponential standard_gamma standard_normal standard_t transfer_policy
    tri triangular tril_indices tril_indices_from triu_indices triu_indices_from typename use_backend vectorize
    synchronize verify visualize vonmises wald weibull zeros zipf
    """.split()  # noqa: SIM905 - a table reads better than fifty quoted names
)


def public_functions():
    """Every public function of the package and its extensions, by the names that it has."""
    found = {}
    for space in (tfr, tfr.linalg, tfr.fft, tfr.random, tfr.nn.functional):
        for name in space.__all__:
            value = getattr(space, name)
            is_numpys = isinstance(value, type) and (
                issubclass(value, np.generic) or value.__module__.startswith("numpy.random")
            )
            if (
                name[0] != "_"
                and callable(value)
                and not isinstance(value, types.ModuleType)
                and not is_numpys
                and (name in OTHERS or name not in dir(np) or value is not getattr(np, name))
            ):
                # some are written under what hands other data to NumPy
                found.setdefault(inspect.unwrap(value), set()).add(name)
    return found
