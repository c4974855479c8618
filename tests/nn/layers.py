"""Layers for tests: how they are made, here and by PyTorch, what they take, and what their parameters are called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Layer(NamedTuple):
    """A layer: `make(nn)` is the same for both packages; `inputs` are shapes, or integers below a limit."""

    make: Callable[[Any], Any]
    inputs: tuple[Any, ...]
    state: dict[str, tuple[int, ...]]
    call: Callable[..., Any] = lambda layer, *inputs: layer(*inputs)

    def arrays(self) -> list[np.ndarray]:
        random = np.random.default_rng(1)
        return [
            random.integers(0, shape[-1], shape[:-1])
            if isinstance(shape, list)
            else random.standard_normal(shape).astype(np.float32)
            for shape in self.inputs
        ]


def weight(*shape: int, bias: int | None = None) -> dict[str, tuple[int, ...]]:
    return {"weight": shape} | ({} if bias is None else {"bias": (bias,)})


RUNNING = {"running_mean": (3,), "running_var": (3,), "num_batches_tracked": ()}


def recurrent(
    gates: int, layers: int = 1, directions: tuple[str, ...] = ("",), projected: int = 0
) -> dict[str, Any]:
    rows, size = gates * 4, projected or 4
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in range(layers):
        for direction in directions:
            place = f"l{layer}{direction}"
            features = size * len(directions) if layer else 3
            shapes[f"weight_ih_{place}"] = (rows, features)
            shapes[f"weight_hh_{place}"] = (rows, size)
            shapes[f"bias_ih_{place}"] = shapes[f"bias_hh_{place}"] = (rows,)
            if projected:
                shapes[f"weight_hr_{place}"] = (projected, 4)
    return shapes


ATTENTION = {
    "in_proj_weight": (24, 8),
    "in_proj_bias": (24,),
    "out_proj.weight": (8, 8),
    "out_proj.bias": (8,),
}
ENCODER = {
    **{f"self_attn.{name}": shape for name, shape in ATTENTION.items()},
    "linear1.weight": (16, 8),
    "linear1.bias": (16,),
    "linear2.weight": (8, 16),
    "linear2.bias": (8,),
    "norm1.weight": (8,),
    "norm1.bias": (8,),
    "norm2.weight": (8,),
    "norm2.bias": (8,),
}

LAYERS = {
    "Linear": Layer(lambda nn: nn.Linear(3, 4), ((5, 3),), weight(4, 3, bias=4)),
    "Linear without bias": Layer(
        lambda nn: nn.Linear(3, 4, bias=False), ((2, 5, 3),), weight(4, 3)
    ),
    "Bilinear": Layer(lambda nn: nn.Bilinear(2, 3, 4), ((5, 2), (5, 3)), weight(4, 2, 3, bias=4)),
    "Embedding": Layer(lambda nn: nn.Embedding(7, 3, padding_idx=2), ([2, 4, 7],), weight(7, 3)),
    "Conv1d": Layer(
        lambda nn: nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2),
        ((2, 4, 9),),
        weight(6, 2, 3, bias=6),
    ),
    "Conv2d": Layer(
        lambda nn: nn.Conv2d(3, 4, (3, 2), padding="same", dilation=2),
        ((2, 3, 7, 6),),
        weight(4, 3, 3, 2, bias=4),
    ),
    "Conv2d reflect": Layer(
        lambda nn: nn.Conv2d(3, 4, 3, padding=2, padding_mode="reflect", bias=False),
        ((2, 3, 5, 6),),
        weight(4, 3, 3, 3),
    ),
    "Conv2d circular": Layer(
        lambda nn: nn.Conv2d(3, 4, 4, padding="same", padding_mode="circular"),
        ((3, 5, 6),),
        weight(4, 3, 4, 4, bias=4),
    ),
    "Conv3d": Layer(
        lambda nn: nn.Conv3d(2, 3, 2, padding_mode="replicate", padding=(1, 0, 1)),
        ((2, 2, 3, 4, 3),),
        weight(3, 2, 2, 2, 2, bias=3),
    ),
    "ConvTranspose1d": Layer(
        lambda nn: nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2),
        ((2, 4, 5),),
        weight(4, 3, 3, bias=6),
    ),
    "ConvTranspose2d": Layer(
        lambda nn: nn.ConvTranspose2d(3, 4, (3, 2), dilation=2),
        ((2, 3, 4, 5),),
        weight(3, 4, 3, 2, bias=4),
    ),
    "ConvTranspose3d": Layer(
        lambda nn: nn.ConvTranspose3d(2, 3, 2, bias=False),
        ((1, 2, 2, 3, 2),),
        weight(2, 3, 2, 2, 2),
    ),
    "BatchNorm1d": Layer(lambda nn: nn.BatchNorm1d(3), ((5, 3),), weight(3, bias=3) | RUNNING),
    "BatchNorm2d": Layer(
        lambda nn: nn.BatchNorm2d(3, eps=1e-3, momentum=None),
        ((4, 3, 5, 2),),
        weight(3, bias=3) | RUNNING,
    ),
    "BatchNorm3d": Layer(
        lambda nn: nn.BatchNorm3d(3, momentum=0.3, affine=False), ((2, 3, 2, 2, 2),), RUNNING
    ),
    "BatchNorm2d untracked": Layer(
        lambda nn: nn.BatchNorm2d(3, track_running_stats=False),
        ((2, 3, 2, 2),),
        weight(3, bias=3),
    ),
    "InstanceNorm1d": Layer(lambda nn: nn.InstanceNorm1d(3), ((3, 5),), {}),
    "InstanceNorm2d": Layer(
        lambda nn: nn.InstanceNorm2d(3, affine=True, track_running_stats=True),
        ((2, 3, 4, 5),),
        weight(3, bias=3) | RUNNING,
    ),
    "InstanceNorm3d": Layer(lambda nn: nn.InstanceNorm3d(3), ((2, 3, 2, 3, 2),), {}),
    "LayerNorm": Layer(
        lambda nn: nn.LayerNorm((3, 4)), ((2, 3, 4),), {"weight": (3, 4), "bias": (3, 4)}
    ),
    "RMSNorm": Layer(lambda nn: nn.RMSNorm(4, eps=1e-4), ((2, 3, 4),), weight(4)),
    "GroupNorm": Layer(lambda nn: nn.GroupNorm(2, 6), ((3, 6, 4),), weight(6, bias=6)),
    "LocalResponseNorm": Layer(lambda nn: nn.LocalResponseNorm(3), ((2, 5, 4),), {}),
    "Flatten": Layer(lambda nn: nn.Flatten(1, 2), ((2, 3, 4, 2),), {}),
    "Unflatten": Layer(lambda nn: nn.Unflatten(1, (2, 3)), ((4, 6, 2),), {}),
    "Identity": Layer(lambda nn: nn.Identity(3), ((2,),), {}),
    "RNN": Layer(lambda nn: nn.RNN(3, 4, nonlinearity="relu"), ((5, 2, 3),), recurrent(1)),
    "LSTM": Layer(
        lambda nn: nn.LSTM(3, 4, num_layers=2, bidirectional=True),
        ((3, 2, 3),),
        recurrent(4, 2, ("", "_reverse")),
    ),
    "LSTM with projections": Layer(
        lambda nn: nn.LSTM(3, 4, num_layers=2, bidirectional=True, proj_size=2),
        ((3, 2, 3),),
        recurrent(4, 2, ("", "_reverse"), projected=2),
    ),
    "GRU": Layer(lambda nn: nn.GRU(3, 4, batch_first=True), ((2, 5, 3),), recurrent(3)),
    "MultiheadAttention": Layer(
        lambda nn: nn.MultiheadAttention(8, 2),
        ((4, 3, 8), (5, 3, 8), (5, 3, 8)),
        ATTENTION,
    ),
    "MultiheadAttention with more keys": Layer(
        lambda nn: nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True),
        ((4, 3, 8), (5, 3, 8), (5, 3, 8)),
        ATTENTION | {"bias_k": (1, 1, 8), "bias_v": (1, 1, 8)},
    ),
    "MultiheadAttention with more keys and masks": Layer(
        lambda nn: nn.MultiheadAttention(8, 2, add_bias_kv=True, batch_first=True),
        ((3, 4, 8), [3, 4, 2]),
        ATTENTION | {"bias_k": (1, 1, 8), "bias_v": (1, 1, 8)},
        lambda layer, x, hidden: layer(x, x, x, hidden == 1),
    ),
    "MultiheadAttention of other sizes": Layer(
        lambda nn: nn.MultiheadAttention(8, 2, bias=False, kdim=3, vdim=5, batch_first=True),
        ((3, 4, 8), (3, 5, 3), (3, 5, 5)),
        {
            "q_proj_weight": (8, 8),
            "k_proj_weight": (8, 3),
            "v_proj_weight": (8, 5),
            "out_proj.weight": (8, 8),
        },
        lambda layer, *inputs: layer(*inputs, average_attn_weights=False),
    ),
    "TransformerEncoderLayer": Layer(
        lambda nn: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
        ((3, 4, 8),),
        ENCODER,
    ),
    "TransformerEncoder": Layer(
        lambda nn: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(
                8, 2, 16, dropout=0.0, activation="gelu", norm_first=True, batch_first=True
            ),
            2,
            nn.LayerNorm(8),
        ),
        ((3, 4, 8),),
        {f"layers.{index}.{name}": shape for index in range(2) for name, shape in ENCODER.items()}
        | {"norm.weight": (8,), "norm.bias": (8,)},
    ),
    "Sequential": Layer(
        lambda nn: nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 2))),
        ((5, 3),),
        {
            "0.weight": (4, 3),
            "0.bias": (4,),
            "1.0.weight": (4,),
            "1.0.bias": (4,),
            "1.1.weight": (2, 4),
            "1.1.bias": (2,),
        },
    ),
}

X = np.random.default_rng(4).standard_normal((5, 4)).astype(np.float32)
ALIGNED = np.log(np.random.default_rng(5).dirichlet(np.ones(4), (5, 2))).astype(np.float32)
POSITIVE = np.abs(X) + np.float32(0.1)
SIGNS = np.where(X > 0, 1, -1).astype(np.float32)
SHARES = np.random.default_rng(5).uniform(0.05, 0.95, (5, 4)).astype(np.float32)
TARGET = np.random.default_rng(6).uniform(0.05, 0.95, (5, 4)).astype(np.float32)
LABELS = np.array([0, 3, 1, 1, 2])

# a class, what it is made with, what it is called with
FUNCTIONS: dict[str, list[tuple[dict[str, Any], tuple[np.ndarray, ...]]]] = {
    "CELU": [({}, (X,)), ({"alpha": 0.5}, (X,))],
    "ELU": [({}, (X,)), ({"alpha": 0.5}, (X,))],
    "GELU": [({}, (X,)), ({"approximate": "tanh"}, (X,))],
    "GLU": [({}, (X,)), ({"dim": 1}, (X,))],
    "Hardshrink": [({"lambd": 0.7}, (X,))],
    "Hardsigmoid": [({}, (3 * X,))],
    "Hardswish": [({}, (3 * X,))],
    "Hardtanh": [({}, (X,)), ({"min_val": -0.5, "max_val": 0.25}, (X,))],
    "LeakyReLU": [({}, (X,)), ({"negative_slope": 0.3}, (X,))],
    "LogSigmoid": [({}, (X,))],
    "LogSoftmax": [({"dim": 0}, (X,))],
    "Mish": [({}, (X,))],
    "PReLU": [({}, (X,)), ({"num_parameters": 4, "init": 0.5}, (X,))],
    "RReLU": [({"lower": 0.3, "upper": 0.3}, (X,))],
    "ReLU": [({}, (X,)), ({"inplace": True}, (X,))],
    "ReLU6": [({}, (9 * X,))],
    "SELU": [({}, (X,))],
    "SiLU": [({}, (X,))],
    "Sigmoid": [({}, (X,))],
    "Softmax": [({"dim": 0}, (X,))],
    "Softmin": [({"dim": 1}, (X,))],
    "Softplus": [({}, (X,)), ({"beta": 2.0, "threshold": 1.0}, (X,))],
    "Softshrink": [({"lambd": 0.3}, (X,))],
    "Softsign": [({}, (X,))],
    "Tanh": [({}, (X,))],
    "Tanhshrink": [({}, (X,))],
    "Threshold": [({"threshold": 0.2, "value": -3.0}, (X,))],
    "BCELoss": [({}, (SHARES, TARGET)), ({"reduction": "sum"}, (SHARES, TARGET))],
    "BCEWithLogitsLoss": [({}, (X, TARGET)), ({"reduction": "none"}, (X, TARGET))],
    "CosineEmbeddingLoss": [({"margin": 0.2}, (X, POSITIVE, SIGNS[:, 0]))],
    "CrossEntropyLoss": [
        ({}, (X, TARGET / TARGET.sum(axis=1, keepdims=True))),
        ({"ignore_index": 1, "label_smoothing": 0.2}, (X, LABELS)),
        ({"reduction": "sum"}, (X, LABELS)),
    ],
    "GaussianNLLLoss": [({"full": True, "eps": 0.5}, (X, TARGET, POSITIVE))],
    "HingeEmbeddingLoss": [({"margin": 0.5}, (X, SIGNS))],
    "HuberLoss": [({"delta": 0.3, "reduction": "sum"}, (X, TARGET))],
    "KLDivLoss": [
        ({"reduction": "batchmean"}, (X, TARGET)),
        ({"log_target": True, "reduction": "sum"}, (X, X[::-1])),
    ],
    "CTCLoss": [
        ({}, (ALIGNED, np.array([[1, 3, 3], [2, 0, 0]]), np.array([5, 4]), np.array([3, 1]))),
        (
            {"blank": 2, "reduction": "sum", "zero_infinity": True},
            (ALIGNED, np.array([1, 3, 0, 0]), np.array([2, 5]), np.array([3, 1])),
        ),
    ],
    "L1Loss": [({}, (X, TARGET)), ({"reduction": "none"}, (X, TARGET))],
    "MSELoss": [({}, (X, TARGET)), ({"reduction": "sum"}, (X, TARGET))],
    "MarginRankingLoss": [({"margin": 0.3}, (X, TARGET, SIGNS))],
    "MultiLabelSoftMarginLoss": [({}, (X, (SIGNS > 0).astype(np.float32)))],
    "MultiMarginLoss": [({"p": 2, "margin": 0.5}, (X, LABELS))],
    "NLLLoss": [({"ignore_index": 3, "reduction": "sum"}, (X, LABELS))],
    "PoissonNLLLoss": [({"log_input": False, "full": True, "eps": 0.1}, (POSITIVE, 3 * TARGET))],
    "SmoothL1Loss": [({"beta": 0.3}, (X, TARGET))],
    "SoftMarginLoss": [({}, (X, SIGNS))],
    "TripletMarginLoss": [({"margin": 2.0, "p": 1.0, "swap": True}, (X, TARGET, POSITIVE))],
}
LINE = np.random.default_rng(7).standard_normal((2, 3, 9)).astype(np.float32)
PLANE = np.random.default_rng(8).standard_normal((2, 3, 7, 6)).astype(np.float32)
PLACES = np.argsort(PLANE[:, :, :2, :2].reshape(2, 3, 4)).reshape(2, 3, 2, 2)
SPACE = np.random.default_rng(9).standard_normal((2, 2, 5, 4, 6)).astype(np.float32)
FUNCTIONS |= {
    "MaxPool1d": [({"kernel_size": 3, "stride": 2, "padding": 1}, (LINE,))],
    "MaxPool2d": [
        ({"kernel_size": (3, 2), "dilation": 2, "ceil_mode": True}, (PLANE,)),
        ({"kernel_size": 2, "return_indices": True}, (PLANE,)),
    ],
    "MaxPool3d": [({"kernel_size": 2}, (SPACE,))],
    "MaxUnpool1d": [
        ({"kernel_size": 4, "stride": 2, "padding": 1}, (LINE[:, :, :2], PLACES[:, :, 0])),
    ],
    "MaxUnpool2d": [({"kernel_size": (2, 1)}, (PLANE[:, :, :2, :2], PLACES))],
    "MaxUnpool3d": [
        ({"kernel_size": 2, "stride": 1}, (SPACE[:, :, :1, :2, :2], PLACES[:, :2, None])),
    ],
    "AvgPool1d": [({"kernel_size": 3, "padding": 1, "count_include_pad": False}, (LINE,))],
    "AvgPool2d": [
        ({"kernel_size": 3, "stride": 1, "ceil_mode": True}, (PLANE,)),
        ({"kernel_size": 2, "divisor_override": 3}, (PLANE,)),
    ],
    "AvgPool3d": [({"kernel_size": (2, 1, 3), "padding": (1, 0, 1)}, (SPACE,))],
    "LPPool1d": [({"norm_type": 2, "kernel_size": 3, "ceil_mode": True}, (np.abs(LINE),))],
    "LPPool2d": [({"norm_type": 3.0, "kernel_size": 2, "stride": 1}, (np.abs(PLANE),))],
    "LPPool3d": [({"norm_type": 1, "kernel_size": 2}, (np.abs(SPACE),))],
    "AdaptiveAvgPool1d": [({"output_size": 4}, (LINE,))],
    "AdaptiveAvgPool2d": [({"output_size": (3, None)}, (PLANE,))],
    "AdaptiveAvgPool3d": [({"output_size": 2}, (SPACE,))],
    "AdaptiveMaxPool1d": [({"output_size": 4, "return_indices": True}, (LINE,))],
    "AdaptiveMaxPool2d": [({"output_size": (3, 2)}, (PLANE,))],
    "AdaptiveMaxPool3d": [({"output_size": 2}, (SPACE,))],
    "Unfold": [({"kernel_size": 2, "dilation": 2, "padding": 1, "stride": 3}, (PLANE,))],
    "Fold": [
        (
            {"output_size": (5, 4), "kernel_size": 2, "padding": 1, "stride": 2},
            (np.random.default_rng(1).standard_normal((2, 8, 9)).astype(np.float32),),
        )
    ],
}
PADDED = {1: LINE, 2: PLANE, 3: SPACE}
FUNCTIONS |= {
    "Upsample": [
        ({"scale_factor": 2.0}, (PLANE,)),
        ({"size": (9, 11), "mode": "bilinear", "align_corners": True}, (PLANE,)),
    ],
    "PixelShuffle": [({"upscale_factor": 3}, (np.repeat(PLANE, 3, axis=1),))],
    "PixelUnshuffle": [({"downscale_factor": 2}, (PLANE[:, :, :6],))],
    "ChannelShuffle": [({"groups": 2}, (np.concatenate([PLANE, PLANE], axis=1),))],
    **{
        f"{kind}Pad{axes}d": [
            ({"padding": 2} | options, (values,)),
            ({"padding": tuple(range(2 * axes))[::-1] if axes < 3 else 1} | options, (values,)),
        ]
        for kind, options in (
            ("Circular", {}),
            ("Constant", {"value": 0.5}),
            ("Reflection", {}),
            ("Replication", {}),
            ("Zero", {}),
        )
        for axes, values in PADDED.items()
    },
}
# the same with weights of classes
WEIGHTED = {
    "BCEWithLogitsLoss": ("pos_weight", (X, TARGET)),
    "CrossEntropyLoss": ("weight", (X, LABELS)),
    "MultiLabelSoftMarginLoss": ("weight", (X, (SIGNS > 0).astype(np.float32))),
    "MultiMarginLoss": ("weight", (X, LABELS)),
    "NLLLoss": ("weight", (X, LABELS)),
}
WEIGHTS = np.array([0.5, 2.0, 1.0, 0.25], np.float32)


def tensors_of(results: Any) -> list[Any]:
    """The tensors in a result, in order."""
    if isinstance(results, tuple | list):
        return [tensor for result in results for tensor in tensors_of(result)]
    return [results]
