"""Makes docs/images/plan-*.png: a plan on two devices, one of 300 steps, and the explanation of a plan, in JupyterLab.

The two devices are the processor, as itself and through OpenCL: PoCL is enough.
"""

from __future__ import annotations

from jupyter import IMAGES, Theme, cell, lab, screenshot

CELLS = [
    """\
import numpy as np
import tensorframe as tfr

def normal(*shape, device="cpu"):
    return tfr.asarray(np.random.default_rng(0).normal(size=shape).astype("float32"), device=device)""",
    """\
def likelihood(x, mean):
    return tfr.sum(tfr.exp(-((x - mean) ** 2)), axis=1)

likelihood(normal(300, 100, device="opencl"), normal(100)).to_device("cpu").visualize(stage="plan")""",
    """\
x = normal(256, 64)
for layer in range(100):
    x = x + tfr.sort(tfr.softmax(x @ normal(64, 64), axis=1)) * 0.5
x.visualize(stage="plan")""",
    """\
x, w, bias = normal(4000, 512), normal(512, 256), normal(256)
def model(x):
    h = tfr.maximum(x @ w + bias, 0)
    return tfr.mean(tfr.softmax(h, axis=1), axis=0)
tfr.calibrate()
for _ in range(20):
    model(x).compute()""",
    """\
with tfr.profile():
    model(x).compute()
model(x).explain()""",
]
# the cell that each picture shows
PICTURES = {"small": 1, "large": 2, "explain": 4}
THEMES: tuple[Theme, ...] = ("light", "dark")


def main() -> None:
    """Write all pictures."""
    for theme in THEMES:
        with lab(CELLS, theme=theme, width=1000, height=4000) as page:
            for name, place in PICTURES.items():
                screenshot(page, IMAGES / f"plan-{name}-{theme}.png", place, place)
            cell(page, PICTURES["large"]).get_by_title("fit", exact=True).click()
            screenshot(
                page, IMAGES / f"plan-overview-{theme}.png", PICTURES["large"], PICTURES["large"]
            )


if __name__ == "__main__":
    main()
