"""Tables 2 and 3 of paper 001: pixels, kernel PCA and KOCA on faces, with three parts."""
import orl
from lab import cell

PARTS = ("cross validation", "test")


def faces(lab, subjects, components, paper, least, why):
    """paper: of each kind the figures (F, nearest, 4 nearest) of both parts; least: rates of KOCA; why: of KPCA."""
    parts = {name: orl.Part(lab, name, subjects) for name in ("train", *PARTS)}
    table = lab.table("F, and percent of images that one and four neighbours recognise (strict majority)",
                      "features", "part", "F", "nearest", "4 nearest")
    train = parts["train"]
    for kind, words in (("pixels", None), ("KPCA", ("-m", "kpca", "--center", "none")),
                        ("KOCA", ("-m", "koca:neighbours=4", "--validation", parts["cross validation"].folder))):
        if words:
            _, model = lab.fit("table.model", train.folder, *words, "-k", "rbf", "-n", components, "--head", "none")
        rows = {name: lab.features(model, part.folder) if words else part.pixels() for name, part in parts.items()}
        for name, figures in zip(PARTS, paper[kind]):
            found = orl.measures(orl.distances(rows["train"], rows[name]), train.classes, parts[name].classes, 4)
            if kind == "pixels":
                cells = [cell(found[0], figures[0], near=.004)]
                cells += [cell(ours, value, near=.05, digits=1) for ours, value in zip(found[1:], figures[1:])]
            elif kind == "KPCA":
                cells = [cell(ours, value, digits=digits, why=why)
                         for ours, value, digits in zip(found, figures, (3, 1, 1))]
            else:
                cells = [cell(found[0], figures[0])]
                cells += [cell(ours, value, low=low, digits=1)
                          for ours, value, low in zip(found[1:], figures[1:], least[name])]
            table.row(kind, name, *cells)
