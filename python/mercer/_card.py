# SPDX-License-Identifier: BSD-3-Clause
"""A model as a card in a notebook: what was fitted, and its spectrum as a picture. No scripts, no styles
from outside; every text of a model is escaped."""
import html

WIDTH, HEIGHT, MAX_BARS = 320, 90, 60


def spectrum_svg(shares):
    """Bars of the share of the variance per component."""
    shares = list(shares[:MAX_BARS])
    top = max(shares, default=0) or 1
    step = WIDTH / max(1, len(shares))
    bars = "".join(
        f'<rect x="{i * step:.2f}" y="{HEIGHT - HEIGHT * share / top:.2f}" width="{max(0.5, step - 1):.2f}" '
        f'height="{HEIGHT * share / top:.2f}" fill="#4477aa"><title>component {i + 1}: {100 * share:.3g} %</title></rect>'
        for i, share in enumerate(shares))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" role="img" '
            f'aria-label="share of the variance per component">{bars}</svg>')


def card(model):
    info = model.info
    rows = [("method", info["method"]), ("kernel", info["kernel"]), ("centring", info["center"]), ("scaling", info["scale"]),
            ("fitted to", f"{info['rows']} rows of {info['columns']} columns"),
            ("components", info["components"]),
            ("keeps", f"{info['expansion_points']} rows" if info["expansion_points"] else "no rows")]
    if info["reconstruction_error"] is not None:
        rows.append(("reconstruction error", f"{info['reconstruction_error']:.4g} of {info['total_variance']:.4g}"))
    if info["head"]:
        rows.append(("predicts", f"{info['head_kind']} by {info['head']}"))
    if info["novelty_threshold"] is not None:
        rows.append(("novel above", f"{info['novelty_threshold']:.4g}"))
    warnings = []
    if info["stream_unfinished"]:
        warnings.append("its last input had not come to its end")
    if not info["nested"]:
        warnings.append("the first k features are not those of a fit with k components")
    rows += [("mind", text) for text in warnings]
    rows.append(("made by", f"{info['command'] or 'the library'}, version {info['version']}, seed {info['seed']}"))
    cells = "".join(f'<tr><th style="text-align:left">{html.escape(str(name))}</th>'
                    f'<td style="text-align:left">{html.escape(str(value))}</td></tr>' for name, value in rows)
    spectrum = model.array("spectrum")
    picture = ""
    if spectrum is not None and info["total_variance"]:
        picture = spectrum_svg((spectrum / (info["weight"] * info["total_variance"])).tolist())
    return f"<div><strong>mercer.Model</strong><table>{cells}</table>{picture}</div>"
