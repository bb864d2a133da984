#!/usr/bin/python3
"""Paper 000, Figure 4: the points that stand for a cross."""
import numpy as np

from lab import Lab, cell

# Distance of the vertices from the nearest point; another implementation has 1.3 to 1.7 for AKFA.
LIMITS = {"akfa": {"low": 1.0, "high": 2.0}, "skfa": {}}

lab = Lab(__file__, "Figure 4: the points that AKFA and SKFA pick of a cross")
rows, features = (300, 8) if lab.quick else (1200, 15)
ends = [(side * 12, edge * 4) for side in (-1, 1) for edge in (-1, 1)]
vertices = np.array(ends + [(y, x) for x, y in ends])


def picks(seed, method):
    """The points of a cross, and those picked of them."""
    data = lab.folder / f"cross-{seed}.npy"
    lab.mercer("generate", "swiss-cross", "--rows", rows, "--seed", seed, "-o", data, "--quiet")
    report, _ = lab.fit("cross.model", data, "-m", method, "-k", "rbf:sigma=4", "-n", features)
    points = np.load(data)
    return points, points[report["selected"]]


lab.note("""1200 points on the outline of a cross (arms from -12 to 12, 8 wide), noise 1, `rbf:sigma=4`, 15 features.
The paper gives neither size nor width. It finds AKFA's points closer to the vertices; judged is that, by the distance
of the eight outer vertices from the nearest point, on five crosses. It holds for an outline only; on a filled cross
SKFA's points are the closer ones, so the paper's cross must be an outline.""")
table = lab.table("Mean distance of the outer vertices from the nearest picked point", "cross", "AKFA", "SKFA")
closer = []
for seed in (1,) if lab.quick else range(1, 6):
    found = {}
    for method in LIMITS:
        picked = picks(seed, method)[1]
        found[method] = np.linalg.norm(vertices[:, None] - picked[None], axis=2).min(1).mean()
    table.row(seed, *(cell(found[method], digits=2, **limits) for method, limits in LIMITS.items()))
    closer.append(found["akfa"] < found["skfa"])
lab.check("AKFA's points are closer to the vertices on every cross", all(closer))
figure, axes = lab.plot(columns=3, width=2.8, height=2.9)
outline = np.array([(12, 4), (4, 4), (4, 12), (-4, 12), (-4, 4), (-12, 4), (-12, -4), (-4, -4), (-4, -12), (4, -12), (4, -4),
                    (12, -4), (12, 4)])
for axis, method in zip(axes[0], ("data", "akfa", "skfa")):
    if method == "data":
        axis.plot(*picks(1, "akfa")[0].T, ".", color="#777777", markersize=1.5)
    else:
        axis.plot(*outline.T, color="#999999", linewidth=.8)
        axis.plot(*picks(1, method)[1].T, "D", markersize=5)
    axis.set(aspect="equal", title=method if method == "data" else method.upper(), xlim=(-16, 16), ylim=(-16, 16),
             xticks=(-10, 0, 10), yticks=(-10, 0, 10))
lab.figure(figure, "1200 points on a noisy cross, and the 15 of them that AKFA and SKFA pick (diamonds; the line is the "
                   "cross without noise).")
lab.finish()
