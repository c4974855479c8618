"""Mixed precision: `autocast` and the scaling of losses."""
