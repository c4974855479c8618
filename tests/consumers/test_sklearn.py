"""scikit-learn fits, transforms and scores tensors where array API dispatch is on."""

from __future__ import annotations

import pytest

SETUP = """
import sklearn
from sklearn import decomposition, discriminant_analysis, linear_model, metrics, model_selection
from sklearn import naive_bayes, preprocessing
sklearn.set_config(array_api_dispatch=True)
generator = np.random.default_rng(0)
X = generator.normal(size=(60, 5))
labels = (X[:, 0] + 0.3 * generator.normal(size=60) > 0).astype(np.int64)
target = X @ generator.normal(size=5) + 0.1 * generator.normal(size=60)
score = 1 / (1 + np.exp(-X[:, 0]))
"""

ESTIMATORS = [
    "preprocessing.StandardScaler().fit(a(X)).transform(a(X))",
    "preprocessing.MinMaxScaler().fit_transform(a(X))",
    "preprocessing.MaxAbsScaler().fit_transform(a(X))",
    "preprocessing.Normalizer().fit_transform(a(X))",
    "preprocessing.PolynomialFeatures(2).fit_transform(a(X))",
    "preprocessing.LabelEncoder().fit_transform(a(labels))",
    "decomposition.PCA(2, svd_solver='full').fit_transform(a(X))",
    "linear_model.Ridge(solver='svd').fit(a(X), a(target)).predict(a(X))",
    "linear_model.RidgeCV().fit(a(X), a(target)).predict(a(X))",
    "discriminant_analysis.LinearDiscriminantAnalysis().fit(a(X), a(labels)).predict(a(X))",
    "naive_bayes.GaussianNB().fit(a(X), a(labels)).predict(a(X))",
    "model_selection.train_test_split(a(X), random_state=0)[0]",
]
MATRICES = [
    "metrics.confusion_matrix(a(labels), a(1 - labels))",
    "metrics.pairwise.cosine_similarity(a(X))",
    "metrics.pairwise.euclidean_distances(a(X))",
    "metrics.pairwise.rbf_kernel(a(X))",
]
SCORES = [
    "metrics.r2_score(a(target), a(target + 0.1 * X[:, 0]))",
    "metrics.mean_squared_error(a(target), a(target + 0.1))",
    "metrics.mean_absolute_error(a(target), a(target + 0.1))",
    "metrics.accuracy_score(a(labels), a((score > 0.5).astype(int)))",
    "metrics.f1_score(a(labels), a((score > 0.5).astype(int)))",
    "metrics.precision_score(a(labels), a((score > 0.5).astype(int)))",
    "metrics.roc_auc_score(a(labels), a(score))",
    "metrics.log_loss(a(labels), a(score))",
    "metrics.explained_variance_score(a(target), a(target + 0.1 * X[:, 0]))",
]


@pytest.fixture(scope="module")
def outcomes(evaluate):
    return evaluate(SETUP, ESTIMATORS + MATRICES + SCORES)


@pytest.mark.parametrize("expression", ESTIMATORS + MATRICES)
def test_estimators_and_pairwise_metrics_give_tensors(outcomes, expression):
    outcome = outcomes[expression]
    assert outcome["kind"] == "Tensor", outcome["detail"]
    assert outcome["close"], outcome["detail"]


@pytest.mark.parametrize("expression", SCORES)
def test_scores_are_python_numbers(outcomes, expression):
    outcome = outcomes[expression]
    assert outcome["kind"] == "float", outcome["detail"]
    assert outcome["close"], outcome["detail"]
