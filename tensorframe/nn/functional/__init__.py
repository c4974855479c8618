"""The namespace `tfr.nn.functional`: what layers compute, as functions with the argument names of PyTorch.

Every function records ops as any other does, so it fuses with its neighbours, has gradients and runs on every device.
"""

from __future__ import annotations

from tensorframe.nn.functional.activations import log_softmax, softmax
from tensorframe.nn.functional.attention import scaled_dot_product_attention
from tensorframe.nn.functional.classes import embedding, one_hot
from tensorframe.nn.functional.classification import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    multi_margin_loss,
    nll_loss,
)
from tensorframe.nn.functional.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from tensorframe.nn.functional.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
)
from tensorframe.nn.functional.linear import bilinear, linear
from tensorframe.nn.functional.losses import (
    cosine_embedding_loss,
    cosine_similarity,
    gaussian_nll_loss,
    hinge_embedding_loss,
    huber_loss,
    kl_div,
    l1_loss,
    margin_ranking_loss,
    mse_loss,
    multilabel_soft_margin_loss,
    pairwise_distance,
    poisson_nll_loss,
    smooth_l1_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from tensorframe.nn.functional.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    normalize,
    rms_norm,
)
from tensorframe.nn.functional.recurrent import gru, lstm, rnn
from tensorframe.nn.functional.rope import rope

__all__ = [
    "alpha_dropout",
    "batch_norm",
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_embedding_loss",
    "cosine_similarity",
    "cross_entropy",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "embedding",
    "gaussian_nll_loss",
    "group_norm",
    "gru",
    "hinge_embedding_loss",
    "huber_loss",
    "instance_norm",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "linear",
    "local_response_norm",
    "log_softmax",
    "lstm",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pairwise_distance",
    "poisson_nll_loss",
    "rms_norm",
    "rnn",
    "rope",
    "scaled_dot_product_attention",
    "smooth_l1_loss",
    "soft_margin_loss",
    "softmax",
    "triplet_margin_loss",
]
