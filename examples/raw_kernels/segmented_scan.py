"""Sums that begin anew where a segment does: threads of a group work together in shared memory."""

from __future__ import annotations

from typing import Any

import tensorframe as tfr


def running_sums(x: Any, first: Any, out: Any, n: Any) -> None:
    """Add the elements of segments up, one after the other."""
    total = x[0] * 0
    for i in range(n):
        total = x[i] if first[i] else total + x[i]
        out[i] = total


_C = """
    // one group goes over all blocks, with the total that the last block leaves
    for (int block = 0; block < n; block += {block}) {{
        const int at = block + lane_local;
        total[lane_local] = at < n ? x[at] : 0;
        begins[lane_local] = at < n ? first[at] : 0;
        BARRIER;
        for (int step = 1; step < {block}; step *= 2) {{
            T before = 0;
            int reached = 1;
            if (lane_local >= step) {{
                before = total[lane_local - step];
                reached = begins[lane_local - step];
            }}
            const int own = begins[lane_local];
            BARRIER;
            if (!own && lane_local >= step) {{
                total[lane_local] += before;
                begins[lane_local] = reached;
            }}
            BARRIER;
        }}
        const T last = block ? left[0] : 0;
        const T sum = begins[lane_local] ? total[lane_local] : total[lane_local] + last;
        if (at < n) out[at] = sum;
        BARRIER;
        if (lane_local == {block} - 1) left[0] = sum;
        BARRIER;
    }}
"""
_WGSL = """
    for (var block = 0; block < n; block += {block}) {{
        let at = block + lane_local;
        total[lane_local] = 0;
        begins[lane_local] = 0;
        if (at < n) {{
            total[lane_local] = x[at];
            begins[lane_local] = i32(first[at]);
        }}
        workgroupBarrier();
        for (var step = 1; step < {block}; step *= 2) {{
            var before = T(0);
            var reached = 1;
            if (lane_local >= step) {{
                before = total[lane_local - step];
                reached = begins[lane_local - step];
            }}
            let own = begins[lane_local];
            workgroupBarrier();
            if (own == 0 && lane_local >= step) {{
                total[lane_local] += before;
                begins[lane_local] = reached;
            }}
            workgroupBarrier();
        }}
        var sum = total[lane_local];
        if (begins[lane_local] == 0 && block > 0) {{
            sum += left[0];
        }}
        if (at < n) {{
            out[at] = sum;
        }}
        workgroupBarrier();
        if (lane_local == {block} - 1) {{
            left[0] = sum;
        }}
        workgroupBarrier();
    }}
"""


def reference(x: tfr.Tensor, first: tfr.Tensor) -> tfr.Tensor:
    """Return sums of all, less what there was before each segment."""
    sums = tfr.cumulative_sum(x, dtype=x.dtype)
    segments = tfr.cumulative_sum(first, dtype="int32")
    before = tfr.where(first, sums - x, 0)  # of which each segment has one
    starts = tfr.segment_sum(before, segments, x.shape[0] + 1).astype(x.dtype)
    return sums - tfr.take(starts, segments)


def segmented_scan(block: int = 64, **changes: Any) -> Any:
    """Return the kernel, for groups of so many threads."""
    in_c, in_wgsl = _C.format(block=block), _WGSL.format(block=block)
    facts: dict[str, Any] = {
        "inputs": {"x": "T[n]", "first": "bool[n]"},
        "outputs": {"out": "T[n]"},
        "source": {
            "cuda": in_c.replace("BARRIER", "__syncthreads()"),
            "opencl": in_c.replace("BARRIER", "barrier(CLK_LOCAL_MEM_FENCE)"),
            "wgsl": in_wgsl,
            "cpu": running_sums,
        },
        "grid": {"lane": block},
        "group": block,
        "shared": {"total": f"T[{block}]", "begins": f"int32[{block}]", "left": "T[1]"},
        "reference": reference,
    }
    return tfr.raw_kernel("segmented_scan", **facts | changes)


def main(device: str = "cpu") -> None:
    """Print sums of two segments."""
    x = tfr.arange(1, 9, dtype="int32", device=device)
    first = tfr.arange(8, device=device) == 4
    print(segmented_scan()(x, first).tolist())
