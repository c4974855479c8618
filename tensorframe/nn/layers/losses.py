"""Losses as modules: one number, or one for each element, that says how far results are from what was wanted.

`reduction` is "mean", "sum", or "none" for no reduction. Weights are statistics: they are in files, and have no
gradient.
"""

from __future__ import annotations

from typing import Any

from tensorframe.frontend.array_like import ArrayLike
from tensorframe.frontend.tensor import Tensor
from tensorframe.nn import functional
from tensorframe.nn.layers.options import Options
from tensorframe.nn.module import Buffer

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
]


class _Loss(Options):
    """A loss with a reduction, and maybe with tensors that weigh elements or classes."""

    weight: Tensor | None
    pos_weight: Tensor | None

    def _weigh(self, **weights: Any) -> None:
        for name, weight in weights.items():
            setattr(self, name, None if weight is None else Buffer(weight))


class BCELoss(_Loss):
    """The surprise at `target` by probabilities.

    `-(target * log(input) + (1 - target) * log(1 - input))`, with logarithms limited to -100,
    averaged unless `reduction` says otherwise.

    >>> round(tfr.nn.BCELoss()(tfr.asarray([[0.5, 0.25]]), tfr.ones((1, 2))).item(), 3)
    1.04
    """

    def __init__(self, weight: ArrayLike | None = None, reduction: str = "mean") -> None:
        self._weigh(weight=weight)
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.binary_cross_entropy(
            input, target, weight=self.weight, reduction=self.reduction
        )


class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of the sigmoid of scores, without its rounding.

    One step that does not overflow: probabilities near 0 and 1 keep their digits.

    >>> round(tfr.nn.BCEWithLogitsLoss()(tfr.asarray([[0.5, 0.25]]), tfr.ones((1, 2))).item(), 3)
    0.525
    """

    def __init__(
        self,
        weight: ArrayLike | None = None,
        reduction: str = "mean",
        pos_weight: ArrayLike | None = None,
    ) -> None:
        self._weigh(weight=weight, pos_weight=pos_weight)
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.binary_cross_entropy_with_logits(
            input, target, weight=self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class CTCLoss(_Loss):
    """Of sequences whose alignment with their labels is not known: minus the logarithm of all alignments together.

    >>> steps = tfr.log(tfr.asarray([[[0.5, 0.5]], [[0.25, 0.75]]]))
    >>> loss = tfr.nn.CTCLoss()(steps, tfr.asarray([[1]]), (2,), (1,))
    >>> round(tfr.exp(-loss).item(), 4)
    0.875
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(
        self,
        log_probs: ArrayLike,
        targets: ArrayLike,
        input_lengths: ArrayLike,
        target_lengths: ArrayLike,
    ) -> Tensor:
        """Return the loss of logarithms of probabilities, (steps, examples, classes), beside labels."""
        return functional.ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )


class CosineEmbeddingLoss(_Loss):
    """One less the cosine of pairs that belong together (1), and cosines of others (-1) above `margin`.

    >>> round(tfr.nn.CosineEmbeddingLoss()(tfr.asarray([[0.5, 0.25]]), tfr.ones((1, 2)), tfr.ones(1)).item(), 3)
    0.051
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        self.margin = margin
        self.reduction = reduction

    def forward(self, input1: ArrayLike, input2: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.cosine_embedding_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class CrossEntropyLoss(_Loss):
    """The surprise at labels, or at probabilities of classes, by the softmax of scores along axis 1.

    >>> round(tfr.nn.CrossEntropyLoss()(tfr.zeros((2, 4)), tfr.asarray([0, 3])).item(), 3)
    1.386
    """

    def __init__(
        self,
        weight: ArrayLike | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        self._weigh(weight=weight)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            reduction=self.reduction,
        )


class GaussianNLLLoss(_Loss):
    """The surprise at `target` by normal distributions with mean `input` and variance `var`.

    >>> round(tfr.nn.GaussianNLLLoss()(tfr.asarray([[0.5, 0.25]]), tfr.ones((1, 2)), tfr.ones((1, 2))).item(), 3)
    0.203
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        self.full = full
        self.eps = eps
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike, var: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )


class HingeEmbeddingLoss(_Loss):
    """Distances of pairs that belong together (1), and what those of others (-1) lack to `margin`.

    >>> round(tfr.nn.HingeEmbeddingLoss()(tfr.asarray([[0.5, 0.25]]), tfr.ones((1, 2))).item(), 3)
    0.375
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        self.margin = margin
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.hinge_embedding_loss(
            input, target, margin=self.margin, reduction=self.reduction
        )


class HuberLoss(_Loss):
    """Squares of differences up to `delta`, beyond it `delta` times their size.

    >>> round(tfr.nn.HuberLoss()(tfr.asarray([[0.5, 0.25]]), tfr.ones((1, 2))).item(), 3)
    0.203
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        self.delta = delta
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.huber_loss(input, target, delta=self.delta, reduction=self.reduction)


class KLDivLoss(_Loss):
    """The divergence of `target`, which has probabilities, from `input`, which has logarithms of some.

    >>> round(tfr.nn.KLDivLoss()(tfr.asarray([[0.5, 0.25]]), tfr.ones((1, 2))).item(), 3)
    -0.375
    """

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        self.log_target = log_target
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.kl_div(
            input, target, log_target=self.log_target, reduction=self.reduction
        )


class L1Loss(_Loss):
    """The mean absolute difference.

    Robust against outliers, since they weigh no more than their size; `reduction` may be "sum" or
    "none" as well.

    >>> round(tfr.nn.L1Loss()(tfr.asarray([[0.5, 0.25]]), tfr.ones((1, 2))).item(), 3)
    0.625
    """

    def __init__(self, reduction: str = "mean") -> None:
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The mean squared difference.

    Averaged over all elements, unless `reduction` is "sum" or "none".

    >>> round(tfr.nn.MSELoss()(tfr.asarray([[0.5, 0.25]]), tfr.ones((1, 2))).item(), 3)
    0.406
    """

    def __init__(self, reduction: str = "mean") -> None:
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.mse_loss(input, target, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """What `input1` lacks to be above `input2` (target 1), or below it (-1), by `margin`.

    >>> round(tfr.nn.MarginRankingLoss()(tfr.asarray([[0.5, 0.25]]), tfr.ones((1, 2)), tfr.ones((1, 2))).item(), 3)
    0.625
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        self.margin = margin
        self.reduction = reduction

    def forward(self, input1: ArrayLike, input2: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.margin_ranking_loss(
            input1, input2, target, margin=self.margin, reduction=self.reduction
        )


class MultiLabelSoftMarginLoss(_Loss):
    """`BCEWithLogitsLoss` for each class, and the mean over classes.

    Every sample may belong to several classes: `target` has ones at these and zeros elsewhere.

    >>> round(tfr.nn.MultiLabelSoftMarginLoss()(tfr.asarray([[0.5, 0.25]]), tfr.ones((1, 2))).item(), 3)
    0.525
    """

    def __init__(self, weight: ArrayLike | None = None, reduction: str = "mean") -> None:
        self._weigh(weight=weight)
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.multilabel_soft_margin_loss(
            input, target, weight=self.weight, reduction=self.reduction
        )


class MultiMarginLoss(_Loss):
    """What scores of other classes lack to be below that of the label by `margin`.

    >>> round(tfr.nn.MultiMarginLoss()(tfr.zeros((2, 4)), tfr.asarray([0, 3])).item(), 3)
    0.75
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: ArrayLike | None = None,
        reduction: str = "mean",
    ) -> None:
        self._weigh(weight=weight)
        self.p = p
        self.margin = margin
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.multi_margin_loss(
            input,
            target,
            weight=self.weight,
            p=self.p,
            margin=self.margin,
            reduction=self.reduction,
        )


class NLLLoss(_Loss):
    """`CrossEntropyLoss` of logarithms of probabilities in the place of scores.

    Its input comes from `LogSoftmax`; `weight` and `ignore_index` mean the same as there.

    >>> round(tfr.nn.NLLLoss()(tfr.zeros((2, 4)), tfr.asarray([0, 3])).item(), 3)
    0.0
    """

    def __init__(
        self, weight: ArrayLike | None = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        self._weigh(weight=weight)
        self.ignore_index = ignore_index
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.nll_loss(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class PoissonNLLLoss(_Loss):
    """The surprise at the counts `target` by Poisson's distribution with the mean `input`, or its logarithm.

    >>> round(tfr.nn.PoissonNLLLoss()(tfr.asarray([[0.5, 0.25]]), tfr.ones((1, 2))).item(), 3)
    1.091
    """

    def __init__(
        self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean"
    ) -> None:
        self.log_input = log_input
        self.full = full
        self.eps = eps
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.poisson_nll_loss(
            input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class SmoothL1Loss(_Loss):
    """Squares of differences up to `beta`, beyond it their size.

    Like `HuberLoss` divided by `beta`: smooth at zero and robust against outliers.

    >>> round(tfr.nn.SmoothL1Loss()(tfr.asarray([[0.5, 0.25]]), tfr.ones((1, 2))).item(), 3)
    0.203
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        self.beta = beta
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.smooth_l1_loss(input, target, beta=self.beta, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """`log(1 + exp(-target * input))`, for targets 1 and -1.

    Logistic loss of two classes; averaged, unless `reduction` says otherwise.

    >>> round(tfr.nn.SoftMarginLoss()(tfr.asarray([[0.5, 0.25]]), tfr.ones((1, 2))).item(), 3)
    0.525
    """

    def __init__(self, reduction: str = "mean") -> None:
        self.reduction = reduction

    def forward(self, input: ArrayLike, target: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.soft_margin_loss(input, target, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """By how much `positive` is not nearer to `anchor` than `negative` by `margin`.

    >>> round(tfr.nn.TripletMarginLoss()(tfr.ones((1, 2)), tfr.ones((1, 2)), tfr.ones((1, 2))).item(), 3)
    1.0
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap
        self.reduction = reduction

    def forward(self, anchor: ArrayLike, positive: ArrayLike, negative: ArrayLike) -> Tensor:
        """Return the loss."""
        return functional.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )
