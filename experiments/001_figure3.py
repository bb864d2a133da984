#!/usr/bin/python3
"""Paper 001, Figure 3: searches with polynomial kernels."""
import orl
from lab import Lab

lab = Lab(__file__, "Figure 3: polynomial kernels")
lab.note("""Ten subjects as in Figure 2, kernels (x, y)^d, r = 4, random start. All of them reach the full rate in the paper;
here one of the 50 images may be missed.""")
orl.search_curves(lab, {
    f"d = {d}": ("koca:continuation=off,beta=1,start=random", f"poly:degree={d},coef0=0,gamma=1e-7", 4, 98, ())
    for d in (2, 3, 4)}, "F, recognition rate and distance from the start by the step, for three degrees.",
    3 if lab.quick else 10)
lab.finish()
