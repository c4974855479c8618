"""Complex functions: formulas for the real and imaginary parts over rows of real ops, so that every dialect has them.

Special values are those of the Array API standard, which follows annex G of C99. Errors are said in units of the last
place of the magnitude of the result, for each part: 2 ULP of a result near i may be all of its real part. They are the
largest of 600,000 numbers in float32, against float64, and of some thousands in float64, against mpmath.
"""
