"""The examples of gradients find what is known to be there."""

from itertools import pairwise

import numpy as np

from examples.gradients import logistic, pendulum


def test_newtons_method_doubles_the_digits_and_finds_what_scikit_learn_finds():
    from sklearn.linear_model import LogisticRegression

    x, labels = logistic.data()
    found = logistic.fit(x, labels)
    slopes = [slope for _, slope in found.history]
    assert slopes[-1] < 1e-14
    quick = [before < 1e-3 and after < 30 * before**2 for before, after in pairwise(slopes)]
    assert sum(quick) >= 2
    theirs = LogisticRegression(C=1 / (logistic.RIDGE * len(labels)), tol=1e-10, max_iter=1000)
    theirs.fit(x.numpy()[:, :-1], labels.numpy())
    np.testing.assert_allclose(found.weights.numpy()[:-1], theirs.coef_[0], rtol=1e-4)
    assert logistic.accuracy(found.weights, x, labels) > 0.98


def test_the_pendulum_is_found_by_its_motion():
    found = pendulum.fit(pendulum.observations())
    assert abs(found.length - pendulum.LENGTH) < 0.005
    assert abs(found.friction - pendulum.FRICTION) < 0.01
    assert found.misfits[-1] < 40 * 0.015**2
