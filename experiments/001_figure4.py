#!/usr/bin/python3
"""Paper 001, Figure 4: searches for subspaces of different dimension."""
import orl
from lab import Lab

lab = Lab(__file__, "Figure 4: dimensions of the subspace")
lab.note("""Ten subjects as in Figure 2, Gaussian kernel, random start. The paper's search recognises all images with
r = 3, and needs fewer steps the larger r is; both hold here.""")
orl.search_curves(lab, *(orl.Part(lab, name, 3 if lab.quick else 10) for name in ("even", "odd")), {
    f"r = {r}": ("koca:continuation=off,beta=1,start=random", "rbf", r, least, ())
    for r, least in ((2, None), (3, 100), (6, 100))},
    "F, recognition rate and distance from the start by the step, for three dimensions.")
lab.finish()
