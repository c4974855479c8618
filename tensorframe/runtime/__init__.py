"""The runtime: plans are run step by step, results stored, events reported."""
