#!/usr/bin/python3
"""Paper 001, Figure 6: searches among few eigenvectors."""
import orl
from lab import Lab

lab = Lab(__file__, "Figure 6: few eigenvectors to search among")
lab.note("""Ten subjects as in Figure 2, Gaussian kernel, r = 4, random start, but the search is restricted to the m
leading eigenvectors. In the paper m = 8 loses much and m = 16 and 35 little: one of 50 images at most
must be missed with 16, none with 35.""")
orl.search_curves(lab, {
    f"m = {m}": (f"koca:continuation=off,beta=1,start=random,energy=1,rank={m}", "rbf", 4, least, ())
    for m, least in (((6, None),) if lab.quick else ((8, None), (16, 98), (35, 100)))},
    "F, recognition rate and distance from the start by the step, for three numbers of eigenvectors.",
    3 if lab.quick else 10)
lab.finish()
