"""Calls of NumPy's functions in its other namespaces, and of those that read and write files and text.

Operands as in calls.py. `saved` gives the bytes that are written to a file, `written` a path of a file with such bytes;
`np_save` and `np_load` are NumPy's own.
"""

from __future__ import annotations

LINALG_AND_FFT = r"""
linalg.cholesky: linalg.cholesky(h); linalg.cholesky(h, upper=True)
linalg.cond: linalg.cond(h); linalg.cond(x=h, p=1)
linalg.cross: linalg.cross(m, h); linalg.cross(m, h, axis=0)
linalg.det: linalg.det(h)
linalg.diagonal: linalg.diagonal(x, offset=1)
linalg.eig: sort(linalg.eig(h).eigenvalues)
linalg.eigh: linalg.eigh(h).eigenvalues; linalg.eigh(a=h, UPLO="U").eigenvalues
linalg.eigvals: sort(linalg.eigvals(h))
linalg.eigvalsh: linalg.eigvalsh(m); linalg.eigvalsh(a=m, UPLO="U")
linalg.inv: linalg.inv(h)
linalg.lstsq: linalg.lstsq(x.T, x[0]); linalg.lstsq(a=h, b=m, rcond=1e-3)
linalg.matmul: linalg.matmul(m, h)
linalg.matrix_norm: linalg.matrix_norm(x); linalg.matrix_norm(x, keepdims=True, ord=1)
linalg.matrix_power: linalg.matrix_power(h, 3); linalg.matrix_power(a=h, n=-1)
linalg.matrix_rank: linalg.matrix_rank(m); linalg.matrix_rank(A=h, tol=1.0); linalg.matrix_rank(h, hermitian=True); \
linalg.matrix_rank(h, rtol=0.5); linalg.matrix_rank(v)
linalg.matrix_transpose: linalg.matrix_transpose(x)
linalg.multi_dot: linalg.multi_dot([m, h, m]); linalg.multi_dot([m, h], out=None)
linalg.norm: linalg.norm(x); linalg.norm(v, 1); linalg.norm(x=x, ord="fro", axis=(0, 1), keepdims=True)
linalg.outer: linalg.outer(v, w)
linalg.pinv: linalg.pinv(h); linalg.pinv(a=h, rcond=1e-3); linalg.pinv(h, hermitian=True); linalg.pinv(h, rtol=1e-3)
linalg.qr: abs(linalg.qr(h).R); abs(linalg.qr(a=h, mode="complete").Q); abs(linalg.qr(h, "r")); \
linalg.qr(h, mode="raw")
linalg.slogdet: linalg.slogdet(h)
linalg.solve: linalg.solve(h, m); linalg.solve(a=h, b=m[0])
linalg.svd: linalg.svd(x).S; linalg.svd(x, False).S; \
linalg.svd(a=h, full_matrices=True, compute_uv=False, hermitian=True)
linalg.svdvals: linalg.svdvals(x)
linalg.tensordot: linalg.tensordot(m, h, axes=1)
linalg.tensorinv: linalg.tensorinv(reshape(eye(4) * 2, (4, 2, 2)), 1); \
linalg.tensorinv(a=reshape(eye(4), (2, 2, 2, 2)), ind=2)
linalg.tensorsolve: linalg.tensorsolve(h, m[0]); \
linalg.tensorsolve(a=reshape(eye(4), (2, 2, 4)), b=arange(4.0), axes=(0, 1))
linalg.trace: linalg.trace(x, offset=1, dtype="f8")
linalg.vecdot: linalg.vecdot(x, x, axis=0)
linalg.vector_norm: linalg.vector_norm(x); linalg.vector_norm(x, axis=0, keepdims=True, ord=1)
fft.fft: fft.fft(v); fft.fft(a=x, n=3, axis=0, norm="ortho")
fft.fft2: fft.fft2(x); fft.fft2(a=x, s=(2, 2), axes=(0, 1), norm="forward")
fft.fftfreq: fft.fftfreq(5); fft.fftfreq(n=4, d=0.5)
fft.fftn: fft.fftn(x); fft.fftn(a=x, s=(2, 2), axes=(0, 1), norm="forward")
fft.fftshift: fft.fftshift(x); fft.fftshift(x=v, axes=0)
fft.hfft: fft.hfft(c); fft.hfft(a=c, n=4, axis=0, norm="ortho")
fft.ifft: fft.ifft(c); fft.ifft(a=c, n=3, axis=0, norm="ortho")
fft.ifft2: fft.ifft2(x); \
fft.ifft2(a=x, s=(2, 2), axes=(0, 1), norm="forward")
fft.ifftn: fft.ifftn(x); \
fft.ifftn(a=x, s=(2, 2), axes=(0, 1), norm="ortho")
fft.ifftshift: fft.ifftshift(x); \
fft.ifftshift(x=x, axes=(1,))
fft.ihfft: fft.ihfft(v); \
fft.ihfft(a=v, n=4, axis=0, norm="ortho")
fft.irfft: fft.irfft(c); fft.irfft(a=c, n=5, norm="forward"); \
fft.irfft(x + 0j, axis=0)
fft.irfft2: fft.irfft2(x + 0j); \
fft.irfft2(a=x + 0j, s=(2, 2), axes=(1, 0), norm="forward")
fft.irfftn: fft.irfftn(x + 0j); \
fft.irfftn(a=x + 0j, s=(2, 4), axes=(0, 1), norm="ortho")
fft.rfft: fft.rfft(v); fft.rfft(a=v, n=4, axis=0, norm="ortho")
fft.rfft2: fft.rfft2(x); \
fft.rfft2(a=x, s=(2, 2), axes=(0, 1), norm="backward")
fft.rfftfreq: fft.rfftfreq(5); \
fft.rfftfreq(6, d=0.5)
fft.rfftn: fft.rfftn(x); \
fft.rfftn(a=x, s=(2, 2), axes=(0, 1), norm="forward")
"""

FILES_AND_TEXT = r"""
array2string: array2string(k, separator=", "); \
array2string(k, max_line_width=9, prefix="ab", suffix="c"); \
array2string(o, precision=1, suppress_small=True, floatmode="fixed", sign="+"); \
array2string(k, threshold=3, edgeitems=1); array2string(k, formatter={"int": hex}); array2string(k, legacy="1.13")
array_repr: array_repr(k); array_repr(arr=k, max_line_width=20, precision=2, suppress_small=True)
array_str: array_str(k); \
array_str(o, max_line_width=9, precision=1, suppress_small=True)
base_repr: base_repr(5, base=3)
binary_repr: binary_repr(5, width=8)
format_float_positional: format_float_positional(0.1)
format_float_scientific: format_float_scientific(0.1)
fromfile: fromfile(written(b"abcdefgh"), "u2", 2, offset=2); \
fromfile(written(b"1,2,3"), dtype="i8", count=-1, sep=",")
genfromtxt: genfromtxt(StringIO("1 2\n3 4")); \
genfromtxt(["# c", "1,2,x", "3,,5", "9,9,9"], dtype="f8", comments="#", delimiter=",", skip_header=0, skip_footer=1, \
converters={0: float}, missing_values="x", filling_values=7, usecols=(0, 1, 2)); \
genfromtxt(["a b", "1 2", "3 4"], names=True)["a"]; \
genfromtxt(["1 2", "3 4"], unpack=True, usemask=False, loose=True, max_rows=1, encoding="utf-8", ndmin=2); \
genfromtxt(["1 2", "3 4 5"], invalid_raise=False, excludelist=None, deletechars="", replace_space="_", autostrip=True, \
case_sensitive=True, defaultfmt="f%i")
load: load(BytesIO(saved(lambda file: np_save(file, [1, 2])))); \
load(file=BytesIO(saved(lambda file: np_save(file, [1, 2]))), mmap_mode=None, allow_pickle=False, fix_imports=True, \
encoding="ASCII", max_header_size=10000)
loadtxt: loadtxt(StringIO("1 2\n3 4")); \
loadtxt(["% c", "skip", "1|2|'3'", "4|5|6", "7|8|9"], dtype="f8", comments="%", delimiter="|", \
converters={0: lambda text: 2 * float(text)}, skiprows=2, usecols=(0, 2), unpack=True, ndmin=2, encoding="utf-8", \
max_rows=2, quotechar="'")
save: np_load(BytesIO(saved(lambda file: save(file, x)))); \
np_load(BytesIO(saved(lambda file: save(file=file, arr=v, allow_pickle=False))))
savetxt: saved(lambda file: savetxt(file, i)).decode(); \
saved(lambda file: savetxt(fname=file, X=x, fmt="%.2f", delimiter=",", newline="|", header="h", footer="f", \
comments="%", encoding="utf-8")).decode()
savez: np_load(BytesIO(saved(lambda file: savez(file, x, named=v))))["named"]; \
np_load(BytesIO(saved(lambda file: savez(file=file, x=x, allow_pickle=False))))["x"]
savez_compressed: np_load(BytesIO(saved(lambda file: savez_compressed(file, x, named=v))))["arr_0"]; \
np_load(BytesIO(saved(lambda file: savez_compressed(file=file, x=x, allow_pickle=False))))["x"]
"""
