# SPDX-License-Identifier: BSD-3-Clause
"""Liu, Mio 2005, Figure 8: kernels that are too narrow, right and too wide; and a width that is learnt."""
import numpy as np

import orl
from lab import Lab, cell

SPEC = "koca:continuation=off,beta=0.05,start=random"



def draw(lab, drawn):
    """Five of the starts, in the same colours everywhere."""
    figure, axes = lab.plot(columns=4, rows=2, width=2.4, height=2.2)
    away = np.array(drawn["squared_distances"])
    for column, (name, width) in zip(axes.T, drawn["width"].items()):
        image = column[0].imshow(np.exp(-away / (2 * width**2)), vmin=0, vmax=1, cmap="viridis")
        column[0].set(title=f"{name}:\nsigma {width:.0f} grey values", xticks=[], yticks=[])
        column[0].grid(False)
        for start, trace in enumerate(drawn["performance"][name][:5]):
            column[1].plot(trace, label=f"start {start + 1}")
        column[1].set(xlabel="step", ylim=(.4, 1.02), xlim=(-5, 205))
    axes[1, 0].set(ylabel="performance F")
    axes[1, 0].legend(loc="upper right", fontsize=7)
    figure.colorbar(image, ax=axes[0, 3], label="k(x, y)")
    return figure


lab = Lab(__file__, "Figure 8: the width of the kernel", "yes",
          "A width that is too small ends below the proper one. The paper says no more than that the width matters.",
          draw)
even, odd = (orl.Part(lab, name, 3 if lab.quick else 10) for name in ("even", "odd"))
away = np.maximum(orl.distances(even.pixels(), even.pixels()), 0)
median = orl.median_width(lab, even)
lab.note("""Ten subjects as in Figure 2, r = 4, ascents from twenty random starts, the same for the proper width (the
median distance) and the learnt one; but beta is .05 in place of 1, with which F is 1.000 at the median distance
already and no other width can gain. A width a tenth of the median makes all images orthogonal, so that nothing is
near anything. Ten times the median makes them nearly alike, which does no harm here: F compares distances with each
other, so that their size does not matter. The paper says only that the width affects performance. It left open to
search for the width together with the subspace: `sigma=learn` does, from the median distance on, and judges by the
odd images. Its curves fall for some steps where another width is taken, as the subspace was fitted to the one before.
Many widths serve: F has next to nothing left to gain. Some starts end in a local optimum; of five starts one
more or less would decide, hence twenty.""")
table = lab.table("Where the searches end, means of twenty starts", "width", "F at first", "F in the end",
                  "least F in the end", "starts below .999", "rate in the end, %", "steps", "widths in the end")
last, shown, curves = {}, {}, {}
for name, width in {"too small": median / 10, "proper": "median", "too large": median * 10, "learnt": "learn"}.items():
    reports = [orl.searched(lab, even, odd, SPEC, f"rbf:sigma={width}", 4, "--seed", seed)
               for seed in range(1, 2 if lab.quick else 21)]
    used = [float(report["kernel"].split("=")[1]) for report in reports]
    traces = [np.array([(step["performance"], 100 * step["rate"]) for step in report["trace"]]) for report in reports]
    last[name] = np.array([trace[-1] for trace in traces])
    shown[name], curves[name] = used[0], [trace[:, 0] for trace in traces]
    ends, rates = orl.mean_cells(last[name])
    table.row(name, cell(np.mean([trace[0, 0] for trace in traces])), ends, cell(last[name][:, 0].min()),
              int((last[name][:, 0] < .999).sum()), rates,
              f"{np.mean([len(trace) for trace in traces]):.0f}",
              ", ".join(sorted({f"{value:.0f}" for value in used}, key=float)))
means = {name: found[:, 0].mean() for name, found in last.items()}
lab.check("a width that is too small ends below the proper one", means["too small"] < means["proper"])
lab.check("searches that learn the width end within .001 of the best of the others",
          means["learnt"] >= max(means.values()) - .001)
lab.figure("""The kernel matrix, and F by the step from five of the twenty starts (the first 200 steps), for three widths
and a learnt one. Widths are in grey values; the learnt one is that of the first start. The paper prints no numbers.""",
           squared_distances=away, width=shown, performance={name: found[:5] for name, found in curves.items()})
lab.finish()
