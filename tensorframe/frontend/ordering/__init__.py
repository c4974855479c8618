"""What rests on the order of elements: sorting, quantiles, sets, bins, interpolation."""
