"""Library ops: opaque calls such as sorting, Fourier transforms and decompositions."""
