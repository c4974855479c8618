"""Looking at computations and machines: plans, profiles, memory, caches, calibration, tuning."""
