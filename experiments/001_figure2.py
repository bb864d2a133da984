#!/usr/bin/python3
"""Paper 001, Figure 2: searches from two random subspaces and from that of kernel PCA."""
import orl
from lab import Lab

SPEC = "koca:continuation=off,beta=1,start="

lab = Lab(__file__, "Figure 2: searches from random subspaces and from kernel PCA")
lab.note("""Ten subjects, even images train and odd ones judge, Gaussian kernel with the median distance, r = 4. The
searches are ascents with beta 1 from the start, so that F rises at every step; the paper's, which are stochastic, reach
full recognition, and so must these. The last one is the stochastic search, which must reach 90 %: its
temperatures are not in the paper.""")
orl.search_curves(lab, {
    "random start": (SPEC + "random", "rbf", 4, 100, ("--seed", 1)),
    "another random start": (SPEC + "random", "rbf", 4, 100, ("--seed", 2)),
    "kernel PCA": (SPEC + "kpca", "rbf", 4, 100, ()),
    "kernel PCA, annealing": (SPEC + "kpca,search=anneal,iterations=1000", "rbf", 4, 90, ()),
}, "F, recognition rate and distance from the start by the step.", 3 if lab.quick else 10)
lab.finish()
