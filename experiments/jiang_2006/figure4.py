# SPDX-License-Identifier: BSD-3-Clause
"""Jiang et al. 2006, Figure 4: the points that stand for a cross."""
import numpy as np

from lab import COLOURS, GREY, Lab, cell

# Mean distance of the vertices from the nearest point, single crosses of an independent implementation.
LIMITS = {"outline": {"akfa": {"low": 1.3, "high": 1.7}, "skfa": {"low": 2.2, "high": 3.0}},
          "filled": {"akfa": {}, "skfa": {}}}



def draw(lab, drawn):
    figure, axes = lab.plot(columns=3, width=2.8, height=2.9)
    corners = np.array([(12, 4), (4, 4), (4, 12), (-4, 12), (-4, 4), (-12, 4), (-12, -4), (-4, -4), (-4, -12), (4, -12),
                        (4, -4), (12, -4), (12, 4)])
    axes[0][0].plot(*np.transpose(drawn["points"]), ".", color=GREY, markersize=1.5)
    for axis, (method, picked) in zip(axes[0][1:], drawn["picked"].items()):
        axis.plot(*corners.T, color=GREY, linewidth=.8)
        axis.plot(*np.transpose(picked), "D", markersize=5, color=COLOURS[method])
    for axis, title in zip(axes[0], ("data", "AKFA", "SKFA")):
        axis.set(aspect="equal", title=title, xlim=(-16, 16), ylim=(-16, 16), xticks=(-10, 0, 10), yticks=(-10, 0, 10),
                 xlabel="first coordinate", ylabel="second coordinate")
    return figure


lab = Lab(__file__, "Figure 4: the points that AKFA and SKFA pick of a cross", "yes",
          "On the outline of a cross AKFA's points are closer to the vertices, on most draws. On a filled cross they "
          "are not, so the paper's cross must be an outline.", draw)
rows, features, crosses = (300, 8, 2) if lab.quick else (1200, 15, 40)
ends = [(side * 12, edge * 4) for side in (-1, 1) for edge in (-1, 1)]
vertices = np.array(ends + [(y, x) for x, y in ends])


def points(cross, seed):
    """(file, points) of a cross: its outline or filled, with noise 1."""
    data = lab.folder / f"{cross}-{seed}.npy"
    if cross == "outline":
        lab.mercer("generate", "swiss-cross", "--rows", rows, "--seed", seed, "-o", data, "--quiet")
    else:
        random = np.random.default_rng(seed)
        square = random.uniform(-12, 12, (4 * rows, 2))
        np.save(data, square[(np.abs(square) <= 4).any(1)][:rows] + random.normal(size=(rows, 2)))
    return data, np.load(data)


def picks(cross, seed, method):
    """The points picked of a cross."""
    data, every = points(cross, seed)
    report, _ = lab.fit("cross.model", data, "-m", method, "-k", "rbf:sigma=4", "-n", features, "--threads", 1)
    return every[report["selected"]]


def distance(picked):
    """Of the outer vertices from the nearest point, on average."""
    return np.linalg.norm(vertices[:, None] - picked[None], axis=2).min(1).mean()


lab.note(f"""{rows} points on the outline of a cross (arms from -12 to 12, 8 wide), noise 1, `rbf:sigma=4`, 15
features. The paper gives neither size nor width and shows one cross. It finds AKFA's points closer to the vertices.
Measured is that by the distance of the eight outer vertices from the nearest point: mean and standard deviation of
{crosses} crosses. It holds on most crosses, not on all. On a filled cross (points spread evenly, the same noise) it is
the other way round, so the paper's cross must be an outline. Limits: on the outline the means are within what an independent
implementation has on single crosses (AKFA 1.3 to 1.7, SKFA 2.2 to 3.0; single ones of ours leave these ranges), and
AKFA's are the closer ones nine times of ten. The filled cross is not judged. The other implementation has 3.4 to 3.7
for AKFA and 1.4 to 1.9 for SKFA there; how it spread the points is not known.""")
table = lab.table("Distance of the outer vertices from the nearest picked point", "cross", "AKFA", "range", "SKFA",
                  "range", f"AKFA closer, of {crosses}")
for cross, limits in LIMITS.items():
    found = {method: np.array([distance(picks(cross, seed, method)) for seed in range(1, crosses + 1)])
             for method in limits}
    entries = []
    for method, each in found.items():
        entries += [cell(each.mean(), digits=2, spread=each.std(ddof=1), **limits[method]),
                    f"{each.min():.2f} to {each.max():.2f}"]
    closer = (found["akfa"] < found["skfa"]).sum()
    table.row(cross, *entries, cell(closer, digits=0, low=.9 * crosses if cross == "outline" else None))
lab.figure(f"{rows} points on the first noisy cross, and the 15 of them that AKFA and SKFA pick (diamonds; the line is "
           "the cross without noise). The paper prints no numbers.",
           points=points("outline", 1)[1], picked={method: picks("outline", 1, method) for method in ("akfa", "skfa")})
lab.finish()
