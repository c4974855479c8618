"""Along axes: reductions, statistics, scans, differences and sums of exponentials."""
