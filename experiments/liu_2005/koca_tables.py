# SPDX-License-Identifier: BSD-3-Clause
"""Tables 2 and 3 of Liu, Mio 2005: pixels, kernel PCA and KOCA on faces, with three parts."""
import orl
from lab import cell

PARTS = ("cross validation", "test")
KINDS = {"KPCA": ("-m", "kpca", "--center", "none"), "KPCA, centred": ("-m", "kpca", "--center", "exact"),
         "KOCA": ("-m", "koca:neighbours=4"), "KOCA, beta .157": ("-m", f"koca:neighbours=4,beta={orl.BETA}")}


def faces(lab, subjects, components, paper, least, why):
    """paper: of each kind the figures (F, nearest, 4 nearest) of both parts, as printed; least: rates of KOCA; why: of
    the cells of KPCA and KOCA that are not the paper's."""
    parts = {name: orl.Part(lab, name, subjects) for name in ("train", *PARTS)}
    train = parts["train"]
    width = orl.median_width(lab, train)

    def measured(kind, times=1):
        """Measures of both parts on pixels, or on features with so many times the median as width."""
        if kind in KINDS:
            judges = ("--validation", parts["cross validation"].folder) if kind.startswith("KOCA") else ()
            _, model = lab.fit("table.model", train.folder, *KINDS[kind], *judges, "-k", f"rbf:sigma={times * width!r}",
                               "-n", components, "--head", "none")
        rows = {name: lab.features(model, part.folder) if kind in KINDS else part.pixels()
                for name, part in parts.items()}
        return [orl.measures(orl.distances(rows["train"], rows[name]), train.classes, parts[name].classes, 4)
                for name in PARTS]

    def entry(kind, name, ours, printed, column):
        """A cell: pixels must be the paper's, rates of KOCA reach the least."""
        digits, value = 3 if column == 0 else 1, float(printed)
        limits = {"near": .05 if column else .004} if kind == "pixels" else {}
        if kind == "KOCA" and column:
            limits["low"] = least[name]
        same = f"{ours:.{digits}f}" == f"{value:.{digits}f}"
        return cell(ours, value, digits=digits, paper_digits=len(printed.partition(".")[2]),
                    why=None if same else why.get((kind, name, column), why.get(kind)), **limits)

    head = ("F", "nearest", "4 nearest")
    table = lab.table("F, and percent of images that one and four neighbours recognise (strict majority)",
                      "features", "part", *head)
    for kind, figures in paper.items():
        for name, found, printed in zip(PARTS, measured(kind), figures):
            table.row(kind, name, *(entry(kind, name, ours, printed[column], column)
                                    for column, ours in enumerate(found)))

    table = lab.table("Other widths, in times the median distance, and kernel PCA that is centred", "features", "width",
                      *(f"{name}: {what}" for name in PARTS for what in head))
    for kind in ("KPCA", "KPCA, centred", "KOCA, beta .157"):
        if kind != "KPCA, centred":
            table.row(kind, "paper", *(value for printed in paper[kind[:4]] for value in printed))
        for times in (1,) if lab.quick else (.4, .6, 1, 3):
            table.row(kind, times, *(cell(value, digits=3 if column == 0 else 1) for found in measured(kind, times)
                                     for column, value in enumerate(found)))
