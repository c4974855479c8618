"""The runtime: plans run step by step, results kept, events told."""
