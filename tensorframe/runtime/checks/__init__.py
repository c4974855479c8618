"""Checks of results, beside the executor: NaN, wrong indices, fused regions against their ops one by one."""
