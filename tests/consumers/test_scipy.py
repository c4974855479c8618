"""SciPy computes with tensors as with arrays, and gives tensors back."""

from __future__ import annotations

import pytest

SETUP = """
from scipy import constants, differentiate, fft, integrate, interpolate, ndimage, signal, spatial
from scipy import special, stats
from scipy.cluster import hierarchy, vq
from scipy.optimize import elementwise, rosen, rosen_der
generator = np.random.default_rng(0)
A = generator.normal(size=(8, 5))
v, w = generator.normal(size=(2, 40))
P = np.abs(v) + 0.1
"""

EXPRESSIONS = [
    "special.logsumexp(a(A), axis=1)",
    "special.softmax(a(A), axis=0)",
    "special.log_softmax(a(A), axis=0)",
    "special.expit(a(A))",
    "special.erf(a(A))",
    "special.gammaln(a(P))",
    "special.xlogy(a(P), a(P))",
    "special.rel_entr(a(P), a(P + 1))",
    "stats.zscore(a(A))",
    "stats.skew(a(A), axis=0)",
    "stats.kurtosis(a(A), axis=0)",
    "stats.moment(a(A), order=3)",
    "stats.pearsonr(a(v), a(w)).statistic",
    "stats.spearmanr(a(v), a(w)).statistic",
    "stats.ttest_ind(a(v), a(w)).pvalue",
    "stats.mannwhitneyu(a(v), a(w)).statistic",
    "stats.kruskal(a(v), a(w)).statistic",
    "stats.jarque_bera(a(v)).statistic",
    "stats.entropy(a(P))",
    "stats.variation(a(A))",
    "stats.gmean(a(P))",
    "stats.rankdata(a(v))",
    "stats.quantile(a(v), a(np.asarray([0.2, 0.5])))",
    "stats.directional_stats(a(A)).mean_direction",
    "signal.hilbert(a(v))",
    "signal.detrend(a(v))",
    "signal.fftconvolve(a(v), a(w))",
    "signal.convolve(a(v), a(w[:3]))",
    "signal.correlate(a(v), a(w))",
    "signal.lfilter(a(np.asarray([1.0, 0.5])), a(np.asarray([1.0, 0.2])), a(v))",
    "signal.resample(a(v), 20)",
    "signal.medfilt(a(v), 3)",
    "fft.fft(a(v))",
    "fft.rfftn(a(A))",
    "fft.dct(a(v))",
    "ndimage.gaussian_filter(a(A), 1.0)",
    "ndimage.label(a((A > 0).astype(int)))[0]",
    "integrate.trapezoid(a(v))",
    "integrate.cumulative_simpson(a(v))",
    "integrate.tanhsinh(lambda x: x**2, a(np.asarray(0.0)), a(np.asarray(1.0))).integral",
    "differentiate.derivative(lambda x: x**3, a(np.asarray(2.0))).df",
    "elementwise.find_root(lambda x: x**3 - 2, (a(np.asarray(0.0)), a(np.asarray(3.0)))).x",
    "rosen(a(v))",
    "rosen_der(a(v))",
    "interpolate.make_interp_spline(a(np.arange(10.0)), a(v[:10]))(a(np.asarray([1.5, 2.5])))",
    "spatial.transform.Rotation.from_quat(a(A[:, :4])).as_matrix()",
    "vq.whiten(a(A))",
    "vq.vq(a(A), a(A[:2]))[1]",
    "vq.kmeans(a(A), a(A[:2]))[0]",
    "hierarchy.linkage(a(A))",
    "constants.convert_temperature(a(v), 'C', 'K')",
]


@pytest.fixture(scope="module")
def outcomes(evaluate):
    return evaluate(SETUP, EXPRESSIONS)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_scipy_takes_and_gives_tensors(outcomes, expression):
    outcome = outcomes[expression]
    assert outcome["kind"] == "Tensor", outcome["detail"]
    assert outcome["close"], outcome["detail"]
