// SPDX-License-Identifier: BSD-3-Clause
// The moving parts of a report: the map of the rows (zoom, pan, lasso, hover), and copying. The page
// is whole without it. Nothing is fetched; every text of the data goes in as text, never as markup.
'use strict';
(() => {
  const $ = (id) => document.getElementById(id);
  const dark = matchMedia('(prefers-color-scheme: dark)');

  function element(name, attributes, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
    node.append(...children);
    return node;
  }

  function bytes(text) {
    const raw = atob(text), out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return out;
  }

  function words(text) { // 16 bits each, low byte first
    const b = bytes(text), out = new Uint16Array(b.length / 2);
    for (let i = 0; i < out.length; i++) out[i] = b[2 * i] | b[2 * i + 1] << 8;
    return out;
  }

  const number = (value) => {
    const text = Number(value.toPrecision(4));
    return Math.abs(text) >= 1e-4 && Math.abs(text) < 1e6 || text === 0 ? String(text) : text.toExponential();
  };
  const count = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ',');

  async function copy(text, button, area) {
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      if (area) {
        area.select();
        done = document.execCommand('copy');
      }
    }
    const before = button.dataset.label || (button.dataset.label = button.textContent);
    button.textContent = done ? 'copied' : 'select it and press Ctrl-C';
    setTimeout(() => { button.textContent = before; }, 1500);
  }

  for (const box of document.querySelectorAll('.command')) {
    const button = element('button', { type: 'button' }, 'copy');
    button.addEventListener('click', () => copy(box.querySelector('pre').textContent, button));
    box.append(button);
  }

  // Round numbers inside a range, some `most` of them.
  function ticks(low, high, most) {
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((s) => s * power >= rough) * power, out = [];
    if (!(step > 0) || !isFinite(step)) return out;
    for (let k = Math.ceil(low / step); k * step <= high && out.length < 50; k++) out.push(Number((k * step).toPrecision(12)));
    return out;
  }

  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

  // Paths of the shapes in a square of 12 for keys, in the order of the charts; the map has the same in its shader.
  const SHAPES = ['M6 1a5 5 0 1 0 .01 0z', 'M2 2h8v8h-8z', 'M6 1l5.2 9h-10.4z', 'M6 .5l5.5 5.5l-5.5 5.5l-5.5-5.5z',
    'M6 11l5.2-9h-10.4z', 'M4.5 1h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z'];

  const VERTEX = `#version 300 es
in float x, y; in vec4 paint; in float shape; uniform vec4 view; uniform float size; out vec4 ink; flat out int kind;
void main() {
  gl_Position = vec4((vec2(x, y) - view.xy) * view.zw * 2.0 - 1.0, 0.0, 1.0);
  gl_PointSize = paint.a > 0.0 ? size : 0.0; ink = paint; kind = int(shape + 0.5);
}`;
  const FRAGMENT = `#version 300 es
precision highp float; in vec4 ink; flat in int kind; uniform float size; out vec4 colour;
void main() {
  vec2 p = gl_PointCoord * 2.0 - 1.0; vec2 a = abs(p); float d = length(p) - 0.9;
  if (kind == 1) d = max(a.x, a.y) - 0.75;
  if (kind == 2) d = max(p.y - 0.75, 0.868 * a.x - 0.496 * (p.y + 1.0));
  if (kind == 3) d = a.x + a.y - 1.0;
  if (kind == 4) d = max(-p.y - 0.75, 0.868 * a.x + 0.496 * (p.y - 1.0));
  if (kind == 5) d = max(min(a.x, a.y) - 0.3, max(a.x, a.y) - 0.9);
  float cover = clamp(0.5 - d * size * 0.5, 0.0, 1.0);
  if (cover <= 0.0 || ink.a <= 0.0) discard;
  colour = vec4(ink.rgb, ink.a * cover);
}`;

  // Points by the graphics card; null where there is no WebGL2.
  function cardPainter(canvas, n) {
    const gl = canvas.getContext('webgl2', { antialias: false, alpha: true, premultipliedAlpha: false, preserveDrawingBuffer: true });
    if (!gl) return null;
    let program, buffers, loaded = {};
    function build() {
      program = gl.createProgram();
      for (const [type, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
        const shader = gl.createShader(type);
        gl.shaderSource(shader, source);
        gl.compileShader(shader);
        gl.attachShader(program, shader);
      }
      gl.linkProgram(program);
      if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(program));
      buffers = {};
      for (const [name, type, width, normal] of [['x', gl.UNSIGNED_SHORT, 1, true], ['y', gl.UNSIGNED_SHORT, 1, true],
        ['paint', gl.UNSIGNED_BYTE, 4, true], ['shape', gl.UNSIGNED_BYTE, 1, false]]) {
        buffers[name] = gl.createBuffer();
        gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name]);
        const at = gl.getAttribLocation(program, name);
        gl.enableVertexAttribArray(at);
        gl.vertexAttribPointer(at, width, type, normal, 0, 0);
      }
      loaded = {};
    }
    build();
    canvas.addEventListener('webglcontextlost', (event) => event.preventDefault());
    canvas.addEventListener('webglcontextrestored', () => { build(); canvas.dispatchEvent(new Event('again')); });
    return {
      most: n,
      draw(scene, box, ratio) {
        for (const name of ['x', 'y', 'paint', 'shape']) {
          if (loaded[name] === scene[name] && !(name === 'paint' && scene.repainted)) continue;
          gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name]);
          gl.bufferData(gl.ARRAY_BUFFER, scene[name], gl.STATIC_DRAW);
          loaded[name] = scene[name];
        }
        const v = scene.view;
        gl.disable(gl.SCISSOR_TEST);
        gl.clearColor(0, 0, 0, 0);
        gl.clear(gl.COLOR_BUFFER_BIT);
        const frame = [box.left * ratio, canvas.height - (box.top + box.height) * ratio, box.width * ratio, box.height * ratio].map(Math.round);
        gl.viewport(...frame);
        gl.scissor(...frame);
        gl.enable(gl.SCISSOR_TEST);
        gl.enable(gl.BLEND);
        gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
        gl.useProgram(program);
        gl.uniform4f(gl.getUniformLocation(program, 'view'), v.x0, v.y0, 1 / (v.x1 - v.x0), 1 / (v.y1 - v.y0));
        gl.uniform1f(gl.getUniformLocation(program, 'size'), scene.size * ratio);
        gl.drawArrays(gl.POINTS, 0, n);
      },
    };
  }

  // The same by plain means, for some points of them.
  function plainPainter(canvas, n) {
    const MOST = 20000, pen = canvas.getContext('2d'), shown = Math.min(n, MOST);
    return {
      most: shown,
      draw(scene, box, ratio) {
        const v = scene.view, size = scene.size * ratio;
        pen.clearRect(0, 0, canvas.width, canvas.height);
        pen.save();
        pen.beginPath();
        pen.rect(box.left * ratio, box.top * ratio, box.width * ratio, box.height * ratio);
        pen.clip();
        for (let k = 0; k < shown; k++) {
          const i = Math.floor(k * n / shown), p = 4 * i;
          if (!scene.paint[p + 3]) continue;
          const x = (scene.x[i] / 65535 - v.x0) / (v.x1 - v.x0), y = (scene.y[i] / 65535 - v.y0) / (v.y1 - v.y0);
          if (x < -.05 || x > 1.05 || y < -.05 || y > 1.05) continue;
          pen.fillStyle = `rgb(${scene.paint[p]} ${scene.paint[p + 1]} ${scene.paint[p + 2]} / ${scene.paint[p + 3] / 255})`;
          const left = (box.left + x * box.width) * ratio, top = (box.top + (1 - y) * box.height) * ratio, kind = scene.shape[i];
          pen.save();
          pen.translate(left - size / 2, top - size / 2);
          pen.scale(size / 12, size / 12);
          pen.fill(scene.paths[kind] || (scene.paths[kind] = new Path2D(SHAPES[kind])));
          pen.restore();
        }
        pen.restore();
      },
    };
  }

  // Points in square cells, so that the one below the pointer is found without looking at all.
  function index(x, y, n) {
    const side = Math.max(1, Math.min(512, Math.round(Math.sqrt(n / 2)))), start = new Uint32Array(side * side + 1), order = new Uint32Array(n);
    const cell = (i) => Math.min(side - 1, y[i] * side >> 16) * side + Math.min(side - 1, x[i] * side >> 16);
    for (let i = 0; i < n; i++) start[cell(i) + 1]++;
    for (let c = 0; c < side * side; c++) start[c + 1] += start[c];
    const next = start.slice();
    for (let i = 0; i < n; i++) order[next[cell(i)]++] = i;
    return (x0, x1, y0, y1, visit) => {
      const clamp = (v) => Math.max(0, Math.min(side - 1, Math.floor(v * side)));
      for (let r = clamp(y0); r <= clamp(y1); r++)
        for (let at = start[r * side + clamp(x0)]; at < start[r * side + clamp(x1) + 1]; at++) visit(order[at]);
    };
  }

  function map(root) {
    const data = JSON.parse($('points').textContent), n = data.shown;
    const columns = data.columns.map((c) => ({ ...c, at: words(c.data) }));
    const groups = data.groups.map((g) => ({ ...g, at: bytes(g.data) }));
    const stage = root.querySelector('.stage'), back = stage.querySelector('.back'), front = stage.querySelector('.front');
    const tip = stage.querySelector('.tip'), pen = front.getContext('2d'), said = root.querySelector('.said');
    const painter = cardPainter(back, n) || plainPainter(back, n);
    const rowOf = (i) => { // as page_sampled() in page_points.c
      const first = Math.floor(i * data.rows / n), length = Math.floor((i + 1) * data.rows / n) - first;
      return first + Math.floor(length * (i * 0.6180339887498949 % 1));
    };
    const pointOf = (row) => {
      if (n === data.rows) return row;
      const near = Math.floor(row * n / data.rows); // its stretch, or by rounding the next one
      for (const i of [near - 1, near, near + 1]) if (i >= 0 && i < n && rowOf(i) === row) return i;
      return -1;
    };
    const nameOf = (i) => data.ids ? data.ids.values[i] : String(rowOf(i));
    const marked = new Set((data.selected || []).map(pointOf));
    const hidden = new Set();
    const scene = { paint: new Uint8Array(4 * n), shape: new Uint8Array(n), paths: [], view: null, size: 4, repainted: true };
    let box, ratio, near, axes = [0, Math.min(1, columns.length - 1)], paint = groups.length ? 'g0' : 'one';
    let hover = -1, lassoing = false, lasso = null, drag = null, taken = null, due = false;

    const shade = (share) => {
      const shades = (dark.matches ? data.shades.dark : data.shades.light).map(rgb), at = share * (shades.length - 1);
      const k = Math.min(shades.length - 2, Math.floor(at)), f = at - k;
      return [0, 1, 2].map((c) => Math.round(shades[k][c] * (1 - f) + shades[k + 1][c] * f));
    };

    function repaint() {
      const palette = (dark.matches ? data.palette.dark : data.palette.light).map(rgb);
      const group = paint[0] === 'g' ? groups[paint.slice(1)] : null, column = paint[0] === 'c' ? columns[paint.slice(1)] : null;
      const shades = column ? Array.from({ length: 256 }, (_, k) => shade(k / 255)) : null;
      const alpha = n > 50000 ? 150 : n > 5000 ? 200 : 235;
      scene.shape.fill(0);
      for (let i = 0; i < n; i++) {
        const g = group ? group.at[i] : 0, c = group ? palette[group.colours[g]] : column ? shades[column.at[i] >> 8] : palette[0];
        const off = group && hidden.has(g), faint = taken && !taken[i];
        scene.paint.set(c, 4 * i);
        scene.paint[4 * i + 3] = off ? 0 : faint ? 38 : alpha;
        if (group) scene.shape[i] = group.shapes[g];
      }
      scene.shape = scene.shape.slice(); // new data for the card
      scene.repainted = true;
    }

    function setAxes() {
      scene.x = columns[axes[0]].at;
      scene.y = columns[axes[1]].at;
      near = index(scene.x, scene.y, n);
      fit();
    }
    function fit() { scene.view = { x0: -.04, x1: 1.04, y0: -.04, y1: 1.04 }; }

    const place = (i) => ({ x: box.left + (scene.x[i] / 65535 - scene.view.x0) / (scene.view.x1 - scene.view.x0) * box.width,
      y: box.top + (1 - (scene.y[i] / 65535 - scene.view.y0) / (scene.view.y1 - scene.view.y0)) * box.height });
    const unplace = (p) => ({ x: scene.view.x0 + (p.x - box.left) / box.width * (scene.view.x1 - scene.view.x0),
      y: scene.view.y0 + (1 - (p.y - box.top) / box.height) * (scene.view.y1 - scene.view.y0) });
    const value = (column, share) => column.low * (1 - share) + column.high * share;

    function draw() {
      due = false;
      const width = stage.clientWidth, height = stage.clientHeight, style = getComputedStyle(root);
      if (!width || !height) return;
      ratio = Math.min(2, devicePixelRatio || 1);
      for (const canvas of [back, front]) {
        if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
          canvas.width = Math.round(width * ratio);
          canvas.height = Math.round(height * ratio);
        }
      }
      box = { left: 58, top: 12, width: width - 72, height: height - 58 };
      const zoom = Math.min(8, 1.08 / (scene.view.x1 - scene.view.x0));
      scene.size = Math.min(13, (n > 50000 ? 3.2 : n > 5000 ? 5 : n > 1000 ? 7.5 : 9) * (1 + Math.log2(Math.max(1, zoom)) * .35));
      painter.draw(scene, box, ratio);
      scene.repainted = false;
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, width, height);
      const ink = style.getPropertyValue('--soft'), line = style.getPropertyValue('--line'), accent = style.getPropertyValue('--accent');
      pen.font = '12px system-ui, sans-serif';
      pen.strokeStyle = line;
      pen.lineWidth = 1;
      pen.strokeRect(box.left + .5, box.top + .5, box.width - 1, box.height - 1);
      pen.fillStyle = ink;
      const v = scene.view, [cx, cy] = axes.map((a) => columns[a]);
      pen.textAlign = 'center';
      pen.textBaseline = 'top';
      for (const t of ticks(value(cx, v.x0), value(cx, v.x1), Math.max(2, box.width / 90))) {
        const x = box.left + ((t - cx.low) / (cx.high - cx.low) - v.x0) / (v.x1 - v.x0) * box.width;
        pen.fillRect(x, box.top + box.height, 1, 5);
        pen.fillText(number(t), x, box.top + box.height + 8);
      }
      pen.fillText(cx.name, box.left + box.width / 2, box.top + box.height + 26);
      pen.textAlign = 'right';
      pen.textBaseline = 'middle';
      for (const t of ticks(value(cy, v.y0), value(cy, v.y1), Math.max(2, box.height / 60))) {
        const y = box.top + (1 - ((t - cy.low) / (cy.high - cy.low) - v.y0) / (v.y1 - v.y0)) * box.height;
        pen.fillRect(box.left - 5, y, 5, 1);
        pen.fillText(number(t), box.left - 8, y);
      }
      pen.save();
      pen.translate(12, box.top + box.height / 2);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = 'center';
      pen.fillText(cy.name, 0, 0);
      pen.restore();
      pen.save();
      pen.beginPath();
      pen.rect(box.left, box.top, box.width, box.height);
      pen.clip();
      pen.strokeStyle = style.getPropertyValue('--ink');
      for (const i of marked) if (i >= 0) ring(i, 6);
      if (lasso && lasso.length > 1) {
        pen.strokeStyle = accent;
        pen.lineWidth = 2;
        pen.setLineDash([6, 4]);
        pen.beginPath();
        for (const p of lasso) pen.lineTo(p.x, p.y);
        pen.closePath();
        pen.stroke();
        pen.setLineDash([]);
      }
      if (hover >= 0) {
        pen.strokeStyle = accent;
        pen.lineWidth = 2.5;
        ring(hover, 8);
      }
      pen.restore();
      root.dataset.drawn = String(painter.most);
    }
    function ring(i, radius) {
      const p = place(i);
      pen.beginPath();
      pen.arc(p.x, p.y, radius, 0, 2 * Math.PI);
      pen.stroke();
    }
    function redraw() {
      if (due) return;
      due = true;
      requestAnimationFrame(draw);
    }

    // What is known of a point, in words.
    function facts(i) {
      const out = [];
      if (data.ids) out.push(`row ${count(rowOf(i))}`);
      for (const g of groups) out.push(`${g.name}: ${g.names[g.at[i]]}`);
      for (const a of [...new Set([...axes, ...columns.keys()])].slice(0, 6)) out.push(`${columns[a].name} ${number(value(columns[a], columns[a].at[i] / 65535))}`);
      return out;
    }
    function point(i, quietly) {
      if (i === hover) return;
      hover = i;
      if (i < 0) {
        tip.hidden = true;
        redraw();
        return;
      }
      const name = data.ids ? `${data.ids.name} ${nameOf(i)}` : `row ${count(rowOf(i))}`, list = facts(i);
      tip.replaceChildren(element('b', {}, name), ...list.flatMap((f) => [f, element('br')]));
      tip.hidden = false;
      if (!quietly) said.textContent = [name, ...list].join(', ');
      if (box) {
        const p = place(i), flip = p.x > box.left + box.width / 2;
        tip.style.transform = `translate(${p.x + (flip ? -14 : 14)}px, ${Math.min(p.y + 10, stage.clientHeight - tip.offsetHeight - 6)}px) translateX(${flip ? '-100%' : '0'})`;
      }
      redraw();
    }

    function nearest(p) {
      const reach = 12, a = unplace({ x: p.x - reach, y: p.y + reach }), b = unplace({ x: p.x + reach, y: p.y - reach });
      let best = -1, least = reach * reach;
      near(a.x, b.x, a.y, b.y, (i) => {
        if (!scene.paint[4 * i + 3]) return;
        const q = place(i), d = (q.x - p.x) ** 2 + (q.y - p.y) ** 2;
        if (d < least || (d === least && i < best)) { least = d; best = i; }
      });
      return best;
    }

    function zoom(factor, p) {
      const c = p ? unplace(p) : { x: (scene.view.x0 + scene.view.x1) / 2, y: (scene.view.y0 + scene.view.y1) / 2 }, v = scene.view;
      if ((v.x1 - v.x0) * factor > 4 || (v.x1 - v.x0) * factor < 1e-4) return;
      scene.view = { x0: c.x + (v.x0 - c.x) * factor, x1: c.x + (v.x1 - c.x) * factor, y0: c.y + (v.y0 - c.y) * factor, y1: c.y + (v.y1 - c.y) * factor };
      point(-1);
      redraw();
    }
    function pan(dx, dy) { // in pixels
      const v = scene.view, sx = (v.x1 - v.x0) / box.width, sy = (v.y1 - v.y0) / box.height;
      scene.view = { x0: v.x0 - dx * sx, x1: v.x1 - dx * sx, y0: v.y0 + dy * sy, y1: v.y1 + dy * sy };
      redraw();
    }

    // The rows inside a polygon; null: none are chosen.
    function choose(polygon) {
      taken = null;
      if (polygon && polygon.length > 2) {
        const corners = polygon.map(unplace);
        taken = new Uint8Array(n);
        for (let i = 0; i < n; i++) {
          if (!scene.paint[4 * i + 3]) continue;
          const x = scene.x[i] / 65535, y = scene.y[i] / 65535;
          let inside = false;
          for (let a = 0, b = corners.length - 1; a < corners.length; b = a++) {
            const p = corners[a], q = corners[b];
            if (p.y > y !== q.y > y && x < p.x + (y - p.y) / (q.y - p.y) * (q.x - p.x)) inside = !inside;
          }
          taken[i] = inside ? 1 : 0;
        }
      }
      show();
    }
    function show() {
      const panel = root.querySelector('.chosen'), list = [];
      for (let i = 0; taken && i < n; i++) if (taken[i]) list.push(i);
      if (taken && !list.length) taken = null;
      panel.hidden = !taken;
      repaint();
      redraw();
      if (!taken) {
        said.textContent = 'No rows are chosen.';
        return;
      }
      const sampled = n < data.rows ? ` of the ${count(n)} rows shown` : '';
      panel.querySelector('h3').textContent = `${count(list.length)} row${list.length === 1 ? '' : 's'} chosen${sampled}`;
      said.textContent = panel.querySelector('h3').textContent;
      const table = panel.querySelector('tbody');
      table.replaceChildren();
      for (const g of groups.slice(0, 1)) {
        const tally = g.names.map(() => 0);
        for (const i of list) tally[g.at[i]]++;
        tally.forEach((c, k) => {
          if (c) table.append(element('tr', {}, element('th', { scope: 'row' }, g.names[k]), element('td', { class: 'n' }, count(c)),
            element('td', { class: 'n' }, `${(100 * c / g.counts[k]).toFixed(1)} %`)));
        });
      }
      panel.querySelector('table').hidden = !groups.length;
      const area = panel.querySelector('textarea');
      area.value = list.map(panel.querySelector('[name="names"]:checked').value === 'ids' ? nameOf : rowOf).join('\n');
    }

    const at = (event) => {
      const r = front.getBoundingClientRect();
      return { x: event.clientX - r.left, y: event.clientY - r.top };
    };
    const fingers = new Map();
    front.addEventListener('pointerdown', (event) => {
      front.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, at(event));
      point(-1);
      if (fingers.size > 1) { drag = lasso = null; return; }
      if (lassoing || event.shiftKey) lasso = [at(event)];
      else drag = at(event);
    });
    front.addEventListener('pointermove', (event) => {
      const p = at(event);
      if (fingers.size === 2 && fingers.has(event.pointerId)) {
        const other = [...fingers].find(([id]) => id !== event.pointerId)[1], old = fingers.get(event.pointerId);
        zoom(Math.hypot(old.x - other.x, old.y - other.y) / Math.max(1, Math.hypot(p.x - other.x, p.y - other.y)), other);
        fingers.set(event.pointerId, p);
      } else if (lasso) {
        lasso.push(p);
        redraw();
      } else if (drag) {
        pan(p.x - drag.x, p.y - drag.y);
        drag = p;
      } else point(nearest(p));
    });
    const release = (event) => {
      fingers.delete(event.pointerId);
      if (lasso && event.type === 'pointerup') choose(lasso.length > 2 ? lasso : null);
      lasso = drag = null;
      redraw();
    };
    front.addEventListener('pointerup', release);
    front.addEventListener('pointercancel', release);
    front.addEventListener('pointerleave', () => { if (!drag && !lasso) point(-1); });
    front.addEventListener('wheel', (event) => {
      if (document.activeElement !== front && !event.ctrlKey) return; // the page scrolls until the map was clicked
      event.preventDefault();
      zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 250))), at(event));
    }, { passive: false });
    front.addEventListener('dblclick', (event) => zoom(.5, at(event)));

    function step(by) {
      let i = hover < 0 ? (by > 0 ? -1 : n) : hover;
      do i += by; while (i >= 0 && i < n && !scene.paint[4 * i + 3]);
      if (i < 0 || i >= n) return;
      reveal(i);
      point(i);
    }
    function reveal(i) {
      const p = { x: scene.x[i] / 65535, y: scene.y[i] / 65535 }, v = scene.view;
      if (p.x < v.x0 || p.x > v.x1 || p.y < v.y0 || p.y > v.y1) fit();
    }
    function setLasso(on) {
      lassoing = on;
      root.querySelector('[data-do="lasso"]').setAttribute('aria-pressed', on);
      front.classList.toggle('pan', !on);
    }
    const acts = {
      in: () => zoom(1 / 1.5), out: () => zoom(1.5), all: () => { fit(); point(-1); redraw(); },
      lasso: () => setLasso(!lassoing), clear: () => choose(null),
      copy: (button) => { const area = root.querySelector('textarea'); copy(area.value, button, area); },
    };
    root.addEventListener('click', (event) => {
      const button = event.target.closest('[data-do]');
      if (button) acts[button.dataset.do](button);
    });
    root.addEventListener('change', (event) => { if (event.target.name === 'names') show(); });
    front.addEventListener('keydown', (event) => {
      const keys = {
        '+': acts.in, '=': acts.in, '-': acts.out, 0: acts.all, l: acts.lasso,
        ArrowLeft: () => pan(60, 0), ArrowRight: () => pan(-60, 0), ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60),
        '.': () => step(1), ',': () => step(-1), Escape: () => { point(-1); choose(null); },
        Enter: () => {
          if (hover < 0) return;
          taken = taken || new Uint8Array(n);
          taken[hover] ^= 1;
          show();
        },
      };
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });

    // Menus and keys, made of what the data has.
    const menus = { x: axes[0], y: axes[1] };
    for (const [name, first] of Object.entries(menus)) {
      const menu = root.querySelector(`select[name="${name}"]`);
      columns.forEach((c, k) => menu.append(new Option(c.name, k, k === first, k === first)));
      menu.addEventListener('change', () => { axes[name === 'x' ? 0 : 1] = Number(menu.value); setAxes(); point(-1); redraw(); });
    }
    const menu = root.querySelector('select[name="paint"]');
    groups.forEach((g, k) => menu.append(new Option(g.name, `g${k}`)));
    if (!groups.length) menu.append(new Option('nothing', 'one'));
    columns.forEach((c, k) => menu.append(new Option(c.name, `c${k}`)));
    menu.value = paint;
    menu.addEventListener('change', () => { paint = menu.value; hidden.clear(); legend(); repaint(); redraw(); });
    root.querySelector('.names').hidden = !data.ids;
    setLasso(false);

    function legend() {
      const list = root.querySelector('.key'), palette = dark.matches ? data.palette.dark : data.palette.light;
      list.replaceChildren();
      if (paint[0] === 'c') {
        const column = columns[paint.slice(1)], bar = element('canvas', { width: 140, height: 12, 'aria-hidden': 'true' }), brush = bar.getContext('2d');
        for (let k = 0; k < 140; k++) {
          brush.fillStyle = `rgb(${shade(k / 139).join(' ')})`;
          brush.fillRect(k, 0, 1, 12);
        }
        list.append(element('li', { class: 'scale' }, `${column.name}: ${number(column.low)}`, bar, number(column.high)));
        return;
      }
      const group = paint[0] === 'g' ? groups[paint.slice(1)] : null;
      for (let k = 0; group && k < group.names.length; k++) {
        if (!group.counts[k]) continue;
        const sign = document.createElementNS('http://www.w3.org/2000/svg', 'svg'), path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
        for (const [key, text] of [['width', 12], ['height', 12], ['aria-hidden', 'true']]) sign.setAttribute(key, text);
        path.setAttribute('d', SHAPES[group.shapes[k]]);
        path.setAttribute('fill', palette[group.colours[k]]);
        sign.append(path);
        const button = element('button', { type: 'button', 'aria-pressed': 'true' }, sign, `${group.names[k]} (${count(group.counts[k])})`);
        button.addEventListener('click', () => {
          if (!hidden.delete(k)) hidden.add(k);
          button.setAttribute('aria-pressed', !hidden.has(k));
          repaint();
          redraw();
        });
        list.append(element('li', {}, button));
      }
      if (marked.size) list.append(element('li', { class: 'note' }, 'rings: rows that the method selected'));
    }

    // Row numbers in tables lead to the map.
    for (const cell of document.querySelectorAll('[data-row]')) {
      const i = pointOf(Number(cell.dataset.row));
      if (i < 0 || i >= n) continue;
      const button = element('button', { type: 'button', class: 'link', title: 'show it on the map' }, cell.textContent);
      button.addEventListener('click', () => {
        reveal(i);
        front.focus();
        stage.scrollIntoView({ block: 'center' });
        hover = -1;
        point(i);
      });
      cell.replaceChildren(button);
    }

    const some = painter.most < n ? ` Without WebGL, ${count(painter.most)} of them are drawn.` : '';
    document.querySelector('.some').textContent = some;
    document.documentElement.classList.add('alive');
    setAxes();
    legend();
    repaint();
    draw();
    new ResizeObserver(redraw).observe(stage);
    back.addEventListener('again', redraw);
    dark.addEventListener('change', () => { legend(); repaint(); redraw(); });
  }

  globalThis.mercerReport = { $, element, bytes, number, ticks, dark, SHAPES }; // for the explorer
  const root = $('map-live');
  if (root) map(root);
})();
