#!/usr/bin/python3
"""Paper 000, Figure 5: faces recognised by the number of neighbours."""
import yale
from lab import Lab, cell

lab = Lab(__file__, "Figure 5: faces recognised by the number of neighbours")
data, features = yale.setting(lab)
ks = (1, 10) if lab.quick else (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20)
KNOWN = {("KPCA", 1): 84.8, ("AKFA", 1): 81.8, ("KPCA", 10): 76.4, ("AKFA", 10): 74.5}
lab.note("""sigma = 24, otherwise as Table 3. The paper finds the best accuracy near k = 10. That is not reproduced: accuracy
falls from k = 1 on. The fixed window also shows the wall and the place of the head, by which the picture taken next is
recognised, and nine pairs of pictures of the set are identical, so that the nearest neighbour is a copy. What holds,
and is judged, is the loss at the far end: each subject has only ten other images, so that twenty neighbours must
outvote them.""")
table = lab.table("Accuracy in %", "method", *(f"k = {k}" for k in ks))
figure, axes = lab.plot()
for name, method in yale.METHODS.items():
    line = [yale.accuracy(yale.evaluate(lab, data, method, f"knn:k={k},ties=lowest", features, 24)) for k in ks]
    limits = [KNOWN.get((name, k)) for k in ks]
    near = .7 if name == "KPCA" else 1.3
    table.row(name, *(cell(ours, digits=1, **({} if known is None else {"low": known - near, "high": known + near}))
                      for ours, known in zip(line, limits)))
    axes[0, 0].plot(ks, line, "o-", label=name)
    drop = line[ks.index(10)] - line[-1]
    lab.check(f"{name}: k = 20 at least 5 points below k = 10: {drop:.1f}", drop >= 5)
axes[0, 0].set(xlabel="neighbours", ylabel="accuracy in %", xticks=range(0, 21, 5))
axes[0, 0].legend()
lab.figure(figure, "Faces recognised with 80 features, sigma = 24, by the number of neighbours that vote.")
lab.finish()
