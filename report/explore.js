// SPDX-License-Identifier: BSD-3-Clause
// The explorer: kernel PCA of a sample of the rows again in the browser, for kernels, widths and numbers of features
// of the reader's choice. It ends in the command that does the same to the whole table.
'use strict';
(() => {
  const { $, element, bytes, number, ticks, dark, SHAPES } = globalThis.mercerReport;

  // Runs in a worker, so it uses nothing from outside.
  function work() {
    const EPS = 2 ** -52, BLOCK = 8, ROOM = 200, MOST_STEPS = 400;
    let n, d, x; // the rows, scaled as the model scales them
    const kept = {}; // squared distances, sums of differences, products: whatever was asked for last

    function pairs(kind) {
      if (kept.kind === kind) return kept.values;
      const out = kept.values && kept.values.length === n * n ? kept.values : new Float64Array(n * n);
      for (let i = 0; i < n; i++) {
        for (let j = 0; j <= i; j++) {
          let sum = 0;
          for (let c = 0, a = i * d, b = j * d; c < d; c++) {
            const p = x[a + c], q = x[b + c];
            sum += kind === 'square' ? (p - q) * (p - q) : kind === 'absolute' ? Math.abs(p - q) : p * q;
          }
          out[i * n + j] = out[j * n + i] = sum;
        }
      }
      kept.kind = kind;
      kept.values = out;
      return out;
    }

    const kernels = {
      linear: ['product', () => (s) => s],
      cosine: ['product', (p, all) => (v, i, j) => { const l = Math.sqrt(all[i * n + i]) * Math.sqrt(all[j * n + j]); return l > 0 ? v / l : 0; }],
      poly: ['product', (p) => (v) => (v / d + 1) ** p],
      rbf: ['square', (p) => (v) => Math.exp(-v / (2 * p * p))],
      exponential: ['square', (p) => (v) => Math.exp(-Math.sqrt(v) / p)],
      matern: ['square', (p) => (v) => { const s = Math.sqrt(3 * v) / p; return (1 + s) * Math.exp(-s); }],
      laplacian: ['absolute', (p) => (v) => Math.exp(-p * v)],
    };

    // The kernel matrix, centred.
    function gram(kernel, parameter) {
      const [kind, make] = kernels[kernel], from = pairs(kind), value = make(parameter, from), k = new Float64Array(n * n), mean = new Float64Array(n);
      let all = 0;
      for (let i = 0; i < n; i++) for (let j = 0; j <= i; j++) k[i * n + j] = k[j * n + i] = value(from[i * n + j], i, j);
      for (let i = 0; i < n; i++) {
        let sum = 0;
        for (let j = 0; j < n; j++) sum += k[i * n + j];
        mean[i] = sum / n;
        all += mean[i] / n;
      }
      for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) k[i * n + j] += all - mean[i] - mean[j];
      return k;
    }

    function dot(a, b) {
      let sum = 0;
      for (let i = 0; i < n; i++) sum += a[i] * b[i];
      return sum;
    }
    function times(k, v) {
      const out = new Float64Array(n);
      for (let i = 0; i < n; i++) {
        let s = 0, t = 0, row = i * n, j = 0;
        for (; j + 1 < n; j += 2) {
          s += k[row + j] * v[j];
          t += k[row + j + 1] * v[j + 1];
        }
        if (j < n) s += k[row + j] * v[j];
        out[i] = s + t;
      }
      return out;
    }
    function combine(vectors, weights, column, m) {
      const out = new Float64Array(n);
      for (let a = 0; a < vectors.length; a++) {
        const w = weights[a * m + column], v = vectors[a];
        for (let i = 0; i < n; i++) out[i] += w * v[i];
      }
      return out;
    }

    // Eigenpairs of a small symmetric matrix, the largest first: reflections make it tridiagonal, implicit shifts (QL)
    // diagonal. Rows of z become the eigenvectors.
    function small(t, m) {
      const a = t.slice(), z = new Float64Array(m * m), main = new Float64Array(m), side = new Float64Array(m), v = new Float64Array(m), w = new Float64Array(m);
      for (let i = 0; i < m; i++) z[i * m + i] = 1;
      for (let k = 0; k + 2 < m; k++) {
        let length = 0;
        for (let i = k + 1; i < m; i++) length += (v[i] = a[i * m + k]) ** 2;
        const top = v[k + 1] > 0 ? -Math.sqrt(length) : Math.sqrt(length), size = 2 * (length - top * v[k + 1]);
        v[k + 1] -= top;
        if (!(size > 0)) continue;
        let inner = 0;
        for (let i = k + 1; i < m; i++) {
          let sum = 0;
          for (let j = k + 1; j < m; j++) sum += a[i * m + j] * v[j];
          inner += (w[i] = 2 * sum / size) * v[i];
        }
        for (let i = k + 1; i < m; i++) w[i] -= inner / size * v[i];
        for (let i = k + 1; i < m; i++) for (let j = k + 1; j < m; j++) a[i * m + j] -= v[i] * w[j] + w[i] * v[j];
        a[(k + 1) * m + k] = top;
        for (let c = 0; c < m; c++) { // the same reflection of what turns the matrix
          let sum = 0;
          for (let i = k + 1; i < m; i++) sum += v[i] * z[i * m + c];
          for (let i = k + 1; i < m; i++) z[i * m + c] -= 2 * sum / size * v[i];
        }
      }
      for (let i = 0; i < m; i++) {
        main[i] = a[i * m + i];
        side[i] = i + 1 < m ? a[(i + 1) * m + i] : 0;
      }
      for (let low = 0; low < m; low++) {
        for (let round = 0; round < 60; round++) {
          let high = low;
          while (high + 1 < m && Math.abs(side[high]) > EPS * (Math.abs(main[high]) + Math.abs(main[high + 1]))) high++;
          if (high === low) break;
          const half = (main[low + 1] - main[low]) / (2 * side[low]);
          let g = main[high] - main[low] + side[low] / (half + Math.sign(half || 1) * Math.hypot(half, 1)), s = 1, c = 1, p = 0, i = high - 1;
          for (; i >= low; i--) {
            const f = s * side[i], b = c * side[i], r = Math.hypot(f, g);
            side[i + 1] = r;
            if (r === 0) {
              main[i + 1] -= p;
              side[high] = 0;
              break;
            }
            s = f / r;
            c = g / r;
            g = main[i + 1] - p;
            const turn = (main[i] - g) * s + 2 * c * b;
            p = s * turn;
            main[i + 1] = g + p;
            g = c * turn - b;
            for (let k = 0, one = i * m, two = one + m; k < m; k++) {
              const below = z[two + k], above = z[one + k];
              z[two + k] = s * above + c * below;
              z[one + k] = c * above - s * below;
            }
          }
          if (i >= low) continue;
          main[low] -= p;
          side[low] = g;
          side[high] = 0;
        }
      }
      const order = Array.from({ length: m }, (_, i) => i).sort((i, j) => main[j] - main[i]), vectors = new Float64Array(m * m);
      order.forEach((from, to) => { for (let k = 0; k < m; k++) vectors[k * m + to] = z[from * m + k]; });
      return { values: order.map((i) => main[i]), vectors };
    }

    // The leading eigenpairs by a block Krylov space with thick restarts: q and its image kq, Rayleigh-Ritz in between.
    function leading(k, wanted, tolerance) {
      let seed = 1, q = [], kq = [], done = 0;
      const draw = () => { seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0; return seed / 2 ** 32 - .5; };
      const add = (v) => { // orthogonal to all that is there; false: nothing is left of it
        for (let round = 0; round < 3; round++) {
          const before = Math.sqrt(dot(v, v));
          if (!(before > 0)) return false;
          for (const u of q) {
            const s = dot(u, v);
            for (let i = 0; i < n; i++) v[i] -= s * u[i];
          }
          const after = Math.sqrt(dot(v, v));
          if (!(after > 1e-12 * before)) return false;
          for (let i = 0; i < n; i++) v[i] /= after;
          if (after > .5 * before && round) break;
        }
        q.push(v);
        kq.push(times(k, v));
        return true;
      };
      for (let b = 0; b < BLOCK && q.length < n; b++) add(Float64Array.from({ length: n }, draw));
      let next = wanted + BLOCK, ritz = null;
      for (let step = 0; step < MOST_STEPS; step++) {
        const from = done, to = q.length;
        let grown = 0;
        for (let b = from; b < to && q.length < n; b++) grown += add(kq[b].slice());
        done = to;
        for (let b = 0; !grown && b < 2 && q.length < n; b++) grown += add(Float64Array.from({ length: n }, draw));
        const m = q.length;
        if (grown && m < next && m < n) continue;
        const t = new Float64Array(m * m);
        for (let i = 0; i < m; i++) for (let j = 0; j <= i; j++) t[i * m + j] = t[j * m + i] = (dot(q[i], kq[j]) + dot(q[j], kq[i])) / 2;
        const { values, vectors } = small(t, m), count = Math.min(m, wanted), pairsOf = [];
        let worst = 0;
        const rests = [];
        for (let c = 0; c < Math.min(m, wanted + BLOCK); c++) {
          const u = combine(q, vectors, c, m), ku = combine(kq, vectors, c, m), r = ku.slice();
          for (let i = 0; i < n; i++) r[i] -= values[c] * u[i];
          const size = Math.sqrt(dot(r, r));
          if (c < count) worst = Math.max(worst, size);
          pairsOf.push([u, ku]);
          rests.push([size, r]);
        }
        ritz = { values: values.slice(0, count), vectors: pairsOf.slice(0, count).map((p) => p[0]), residual: worst / Math.max(values[0], 1e-300) };
        if (worst <= tolerance * values[0] || m >= n || !grown) break;
        next = Math.min(Math.ceil(m * 1.5), ROOM);
        if (m >= ROOM) { // go on from the best, with what they leave
          q = pairsOf.map((p) => p[0]);
          kq = pairsOf.map((p) => p[1]);
          done = q.length;
          for (const [, r] of rests.filter((p) => p[0] > tolerance * values[0]).slice(0, BLOCK)) add(r);
          next = Math.min(ROOM, q.length + 6 * BLOCK);
        }
      }
      return ritz;
    }

    onmessage = ({ data }) => {
      if (data.rows) {
        ({ n, d, x } = data.rows);
        return;
      }
      const start = performance.now(), k = gram(data.kernel, data.parameter);
      let trace = 0;
      for (let i = 0; i < n; i++) trace += k[i * n + i];
      const found = trace > 0 ? leading(k, Math.min(data.components, n), 1e-10) : { values: [], vectors: [], residual: 0 };
      const count = found.values.filter((v) => v > n * EPS * Math.max(found.values[0], 0) * 4).length;
      const features = found.vectors.slice(0, count).map((u, c) => {
        let top = 0;
        for (let i = 0; i < n; i++) if (Math.abs(u[i]) > Math.abs(u[top])) top = i;
        const scale = (u[top] < 0 ? -1 : 1) * Math.sqrt(found.values[c]);
        return u.map((v) => v * scale);
      });
      postMessage({ ...data, values: found.values.slice(0, count), features, trace, residual: found.residual, milliseconds: performance.now() - start });
    };
  }

  // What moves in a kernel: how its key is called, from where to where, and whether by factors.
  function keys(data, median) {
    const width = { key: 'sigma', low: median / 32, high: median * 32, start: median };
    return {
      rbf: width, matern: width, exponential: width, linear: null, cosine: null,
      laplacian: { key: 'gamma', low: 1 / data.columns / 64, high: 64 / data.columns, start: 1 / data.columns },
      poly: { key: 'degree', low: 1, high: 8, start: 3, whole: true },
    };
  }

  // The median distance between some rows.
  function middle(x, n, d) {
    const all = [], step = Math.ceil(n / 200);
    for (let i = 0; i < n; i += step) {
      for (let j = 0; j < i; j += step) {
        let sum = 0;
        for (let c = 0; c < d; c++) sum += (x[i * d + c] - x[j * d + c]) ** 2;
        if (sum > 0) all.push(Math.sqrt(sum));
      }
    }
    return all.sort((a, b) => a - b)[all.length >> 1] || 1;
  }

  function explorer(root) {
    const data = JSON.parse($('explore-data').textContent), x = new Float64Array(bytes(data.data).buffer), codes = data.codes ? bytes(data.codes) : null;
    const points = JSON.parse($('points').textContent), group = codes ? points.groups[0] : null, known = keys(data, middle(x, data.rows, data.columns));
    const [name, key, given] = data.kernel.split(/[:=,]/), first = known[name] !== undefined ? name : 'rbf';
    const kernel = root.querySelector('select'), [slider, parts] = root.querySelectorAll('input'), [said, partsSaid] = root.querySelectorAll('output');
    const [bars, dots] = root.querySelectorAll('canvas'), told = root.querySelector('.said'), line = root.querySelector('.command pre');
    const worker = new Worker(URL.createObjectURL(new Blob([`(${work})()`], { type: 'text/javascript' })));
    let busy = false, wanted = null, last = null;
    worker.postMessage({ rows: { n: data.rows, d: data.columns, x } });
    for (const each of Object.keys(known)) kernel.append(new Option(each, each, each === first, each === first));
    if (known[first] && known[first].key === key && Number(given) > 0) { // begin with the model's own
      const k = known[first], at = Number(given);
      known[first] = { ...k, start: at, low: Math.min(k.low, at), high: Math.max(k.high, at) };
    }
    parts.max = Math.min(20, data.rows);
    parts.value = Math.min(data.components, parts.max);

    // The slider runs from 0 to 1000, by factors; the value has four digits, so that the command has all of it.
    let exact = null; // what the slider was set to, until it moves
    const value = () => {
      const k = known[kernel.value];
      if (!k) return null;
      if (exact !== null) return exact;
      if (k.whole) return Math.round(k.low + slider.value / 1000 * (k.high - k.low));
      return Number((k.low * (k.high / k.low) ** (slider.value / 1000)).toPrecision(4));
    };
    function start(at) {
      const k = known[kernel.value];
      slider.disabled = !k;
      exact = k ? Number(at.toPrecision(4)) : null;
      if (k) slider.value = Math.round(1000 * (k.whole ? (at - k.low) / (k.high - k.low) : Math.log(at / k.low) / Math.log(k.high / k.low)));
    }

    function ask() {
      const k = known[kernel.value], v = value();
      said.textContent = k ? `${k.key} ${v}` : 'no key';
      partsSaid.textContent = parts.value;
      slider.setAttribute('aria-valuetext', said.textContent);
      line.textContent = `${data.before} -k ${kernel.value}${k ? `:${k.key}=${v}` : ''} -n ${parts.value}${data.after}`;
      wanted = { kernel: kernel.value, parameter: v, components: Number(parts.value) };
      if (!busy) send();
    }
    function send() {
      busy = true;
      worker.postMessage(wanted);
      wanted = null;
    }
    worker.onmessage = ({ data: answer }) => {
      busy = false;
      last = answer;
      draw();
      if (wanted) send();
    };
    worker.onerror = () => { told.textContent = 'The browser does not let a worker compute.'; };

    function canvas(node) {
      const ratio = Math.min(2, devicePixelRatio || 1), width = node.clientWidth, height = node.clientHeight, pen = node.getContext('2d'), style = getComputedStyle(root);
      node.width = Math.round(width * ratio);
      node.height = Math.round(height * ratio);
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.font = '12px system-ui, sans-serif';
      pen.fillStyle = style.getPropertyValue('--soft');
      pen.strokeStyle = style.getPropertyValue('--line');
      return { pen, box: { left: 52, top: 12, width: width - 64, height: height - 52 }, accent: style.getPropertyValue('--accent') };
    }
    function axis(pen, box, xr, yr, xName, yName) {
      pen.strokeRect(box.left + .5, box.top + .5, box.width - 1, box.height - 1);
      pen.textAlign = 'center';
      pen.textBaseline = 'top';
      for (const t of ticks(...xr, box.width / 80)) {
        const at = box.left + (t - xr[0]) / (xr[1] - xr[0]) * box.width;
        pen.fillRect(at, box.top + box.height, 1, 4);
        pen.fillText(number(t), at, box.top + box.height + 6);
      }
      pen.fillText(xName, box.left + box.width / 2, box.top + box.height + 23);
      pen.textAlign = 'right';
      pen.textBaseline = 'middle';
      for (const t of ticks(...yr, box.height / 50)) {
        const at = box.top + (1 - (t - yr[0]) / (yr[1] - yr[0])) * box.height;
        pen.fillRect(box.left - 4, at, 4, 1);
        pen.fillText(number(t), box.left - 7, at);
      }
      pen.textAlign = 'left';
      pen.textBaseline = 'top';
      pen.fillText(yName, box.left + 6, box.top + 6);
    }
    function drawBars() {
      const { pen, box, accent } = canvas(bars), shares = last.values.map((v) => 100 * v / last.trace), top = Math.max(1e-9, ...shares) * 1.08, width = box.width / Math.max(1, shares.length);
      axis(pen, box, [.5, shares.length + .5], [0, top], 'feature', 'share of the variance, %');
      pen.fillStyle = accent;
      shares.forEach((s, c) => pen.fillRect(box.left + (c + .12) * width, box.top + (1 - s / top) * box.height, .76 * width, s / top * box.height));
    }
    function drawDots() {
      const { pen, box, accent } = canvas(dots), f = [last.features[0], last.features[1] || last.features[0]];
      if (!f[0]) return;
      const range = f.map((v) => {
        const low = v.reduce((a, b) => Math.min(a, b)), high = v.reduce((a, b) => Math.max(a, b)), pad = .04 * (high - low) || 1;
        return [low - pad, high + pad];
      });
      axis(pen, box, range[0], range[1], 'f1', last.features[1] ? 'f2' : 'f1');
      const palette = dark.matches ? points.palette.dark : points.palette.light, size = data.rows > 800 ? 5 : 7, shapes = SHAPES.map((s) => new Path2D(s));
      for (let i = 0; i < data.rows; i++) {
        const place = f.map((v, k) => (v[i] - range[k][0]) / (range[k][1] - range[k][0])), c = codes ? codes[i] : 0;
        pen.fillStyle = group ? palette[group.colours[c]] : accent;
        pen.globalAlpha = .85;
        pen.save();
        pen.translate(box.left + place[0] * box.width - size / 2, box.top + (1 - place[1]) * box.height - size / 2);
        pen.scale(size / 12, size / 12);
        pen.fill(shapes[group ? group.shapes[c] : 0]);
        pen.restore();
      }
    }
    function draw() {
      if (!last) return;
      const sum = last.values.reduce((a, b) => a + b, 0);
      drawBars();
      drawDots();
      told.textContent = last.values.length
        ? `${last.values.length} feature${last.values.length === 1 ? '' : 's'} keep ${number(100 * sum / last.trace)} % of the variance; the mean reconstruction error of a row is ${number((last.trace - sum) / data.rows)}. Computed here in ${Math.round(last.milliseconds)} ms.${last.residual > 1e-8 ? ' The numbers are not settled yet to eight digits.' : ''}`
        : 'All rows are the same to this kernel.';
      root.dataset.answer = JSON.stringify({ kernel: last.kernel, parameter: last.parameter, components: last.components, values: last.values, trace: last.trace, residual: last.residual });
      root.features = last.features;
    }

    kernel.addEventListener('change', () => { start(known[kernel.value] ? known[kernel.value].start : 0); ask(); });
    slider.addEventListener('input', () => { exact = null; ask(); });
    parts.addEventListener('input', ask);
    dark.addEventListener('change', draw);
    new ResizeObserver(draw).observe(root);
    start((known[kernel.value] || {}).start || 0);
    ask();
  }

  const root = $('explore-live');
  if (root) explorer(root);
})();
