# SPDX-License-Identifier: BSD-3-Clause
"""Liu, Mio 2005, Figure 4: searches for subspaces of different dimension."""
import orl
from lab import Lab

SPEC, LEAST = "koca:continuation=off,beta=1,start=random", {2: None, 3: 100, 6: 100}  # and the least rates

lab = Lab(__file__, "Figure 4: dimensions of the subspace", "yes",
          "Three dimensions recognise all images, and more dimensions need fewer steps, in the mean of random starts.",
          orl.draw_curves)
even, odd = (orl.Part(lab, name, 3 if lab.quick else 10) for name in ("even", "odd"))
lab.note("""Ten subjects as in Figure 2, Gaussian kernel, random start. The paper's search recognises all images with
r = 3, and needs fewer steps the larger r is. The first holds here; the second is seen in means over random starts.""")
orl.search_curves(lab, even, odd, {f"r = {r}": (SPEC, "rbf", r, least, ()) for r, least in LEAST.items()},
                  "F, recognition rate and distance from the start by the step, for three dimensions. The paper prints no "
                  "numbers.")
table = lab.table("Steps of ascents from twenty random starts", "r", "steps", "fewest", "most")
for r in LEAST:
    steps = [len(orl.searched(lab, even, odd, SPEC, "rbf", r, "--seed", seed)["trace"])
             for seed in range(1, 2 if lab.quick else 21)]
    table.row(r, orl.mean_cell(steps, digits=1), min(steps), max(steps))
lab.finish()
