// SPDX-License-Identifier: BSD-3-Clause
// Reports in a real browser: browser.js PLAN.json. The plan, made by test_report.py, has the browser, the folder of the
// npm packages, pages and what is true of their rows. Prints "ok NAME", "FAIL NAME: why", and leaves with 0.
'use strict';
const fs = require('fs');
const path = require('path');

const plan = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const { chromium } = require(path.join(plan.modules, 'playwright-core'));
const axe = fs.readFileSync(path.join(plan.modules, 'axe-core', 'axe.min.js'), 'utf8');
const ARGS = ['--headless', '--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--disable-gpu-sandbox', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const LIMIT = 180000; // a page that hangs is a failure

function must(good, why) {
  if (!good) throw new Error(why);
}
const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// A page, and all that went wrong in it.
async function open(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options.context });
  const page = await context.newPage(), faults = [];
  page.setDefaultTimeout(LIMIT);
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type()) && !/GPU stall|GL Driver/.test(message.text())) faults.push(message.text()); });
  page.on('request', (request) => { if (!/^(file|blob):/.test(request.url()) || (request.url().startsWith('file:') && !request.isNavigationRequest())) faults.push(`request: ${request.url()}`); });
  if (options.before) await page.addInitScript(options.before);
  await page.goto(`file://${file}`);
  if (!options.still) await page.waitForSelector('#map-live[data-drawn]');
  return { page, faults, close: () => context.close() };
}

const frames = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));

// Painted pixels of the map: how many, and how many of each colour (in steps of 32).
const painted = (page) => page.evaluate(() => {
  const back = document.querySelector('.stage .back'), copy = document.createElement('canvas');
  copy.width = back.width;
  copy.height = back.height;
  const pen = copy.getContext('2d');
  pen.drawImage(back, 0, 0);
  const data = pen.getImageData(0, 0, copy.width, copy.height).data, colours = {};
  let all = 0, sum = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] < 128) continue;
    all++;
    sum = (sum * 31 + i + data[i]) % 4294967291;
    const key = [0, 1, 2].map((c) => data[i + c] >> 5).join();
    colours[key] = (colours[key] || 0) + 1;
  }
  return { all, colours, sum };
});

// Where a row is on the screen, from its true features: the map shows a little more than their ranges.
function placer(page, truth) {
  const low = [0, 1].map((k) => Math.min(...truth.features.map((f) => f[k])));
  const high = [0, 1].map((k) => Math.max(...truth.features.map((f) => f[k])));
  return async () => {
    const box = await page.locator('.stage .front').boundingBox();
    const inner = { x: box.x + 58, y: box.y + 12, width: box.width - 72, height: box.height - 58 };
    const place = (f) => {
      const share = [0, 1].map((k) => ((f[k] - low[k]) / (high[k] - low[k]) + .04) / 1.08);
      return { x: inner.x + share[0] * inner.width, y: inner.y + (1 - share[1]) * inner.height };
    };
    return { inner, points: truth.features.map(place) };
  };
}

async function toMap(page) {
  await page.locator('.stage').scrollIntoViewIfNeeded();
  await page.evaluate(() => document.querySelector('.stage').scrollIntoView({ block: 'center' }));
  await frames(page);
}

const tests = {
  async 'opens without errors, requests or violations of its policy'(browser) {
    for (const item of plan.pages) {
      const { faults, close } = await open(browser, item.file, { still: !item.truth });
      must(!faults.length, `${item.name}: ${faults.join('; ')}`);
      await close();
    }
  },

  async 'the map is painted in the colours of the classes'(browser) {
    const { page, close } = await open(browser, plan.main.file), { all, colours } = await painted(page);
    must(all > 2000, `${all} pixels`);
    const wanted = await page.evaluate(() => {
      const d = JSON.parse(document.getElementById('points').textContent);
      return d.groups[0].colours.map((c) => d.palette.light[c]);
    });
    for (const hex of wanted) {
      const key = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) >> 5).join();
      must(colours[key] > 100, `${hex}: ${colours[key]} pixels`);
    }
    await close();
  },

  async 'every point is found from its row'() {
    const script = fs.readFileSync(path.join(__dirname, '../../report/report.js'), 'utf8');
    const text = script.slice(script.indexOf('const rowOf ='), script.indexOf('const nameOf ='));
    const make = new Function('data', 'n', `${text}; return { rowOf, pointOf };`);
    for (const [rows, n] of [[12000, 1000], [12001, 7000], [1000003, 200000], [10, 9], [7, 1], [5, 5]]) {
      const { rowOf, pointOf } = make({ rows }, n);
      for (let i = 0; i < n; i++) must(pointOf(rowOf(i)) === i, `${rows} rows, ${n} points: ${i}`);
      const shown = new Set(Array.from({ length: n }, (_, i) => rowOf(i)));
      for (let row = 0; row < Math.min(rows, 20000); row++) must((pointOf(row) >= 0) === shown.has(row), `${rows} rows, ${n} points: row ${row}`);
    }
  },

  async 'hovering names the right row'(browser) {
    const { page, close } = await open(browser, plan.main.file);
    await toMap(page);
    const { points } = await placer(page, plan.main.truth)();
    let tried = 0;
    for (let i = 0; i < points.length && tried < 25; i++) {
      const gap = Math.min(...points.map((p, k) => k === i ? 1e9 : Math.hypot(p.x - points[i].x, p.y - points[i].y)));
      if (gap < 6) continue;
      tried++;
      await page.mouse.move(points[i].x + 1, points[i].y);
      const tip = await page.locator('.tip').innerText();
      must(tip.startsWith(`id ${plan.main.truth.ids[i]}\n`) && tip.includes(`row ${i}\n`), `row ${i}: ${tip}`);
      must(tip.includes(`kind: ${plan.main.truth.classes[i]}\n`), `class of row ${i}: ${tip}`);
    }
    must(tried >= 10, `${tried} points stand alone`);
    await page.mouse.move(5, 5);
    must(await page.locator('.tip').isHidden(), 'the tip stays');
    await close();
  },

  async 'the lasso takes the rows inside it, by class and for copying'(browser) {
    const { page, close } = await open(browser, plan.main.file);
    await toMap(page);
    const { inner, points } = await placer(page, plan.main.truth)();
    const corner = (a, b) => ({ x: inner.x + a * inner.width, y: inner.y + b * inner.height });
    const polygon = [corner(.15, .1), corner(.62, .2), corner(.5, .55), corner(.7, .9), corner(.1, .8)];
    const inside = (p) => polygon.reduce((odd, a, k) => {
      const b = polygon[(k + 1) % polygon.length];
      return (a.y > p.y) !== (b.y > p.y) && p.x < a.x + (p.y - a.y) / (b.y - a.y) * (b.x - a.x) ? !odd : odd;
    }, false);
    const wanted = points.flatMap((p, i) => inside(p) ? [i] : []);
    must(wanted.length > 20 && wanted.length < points.length - 20, `${wanted.length} rows would be too few or many`);
    await page.keyboard.down('Shift');
    await page.mouse.move(polygon[0].x, polygon[0].y);
    await page.mouse.down();
    for (const p of polygon.slice(1)) await page.mouse.move(p.x, p.y);
    await page.mouse.up();
    await page.keyboard.up('Shift');
    const text = () => page.locator('.chosen textarea').inputValue();
    const got = (await text()).split('\n').map(Number);
    // A row within the rounding of positions to the line may be on either side.
    const edge = (p) => polygon.some((a, k) => {
      const b = polygon[(k + 1) % polygon.length], t = Math.max(0, Math.min(1, ((p.x - a.x) * (b.x - a.x) + (p.y - a.y) * (b.y - a.y)) / ((b.x - a.x) ** 2 + (b.y - a.y) ** 2)));
      return Math.hypot(p.x - a.x - t * (b.x - a.x), p.y - a.y - t * (b.y - a.y)) < .5;
    });
    const firm = (list) => list.filter((i) => !edge(points[i]));
    must(same(firm(got), firm(wanted)), `${got.length} rows, expected ${wanted.length}`);
    const tally = {};
    for (const i of got) tally[plan.main.truth.classes[i]] = (tally[plan.main.truth.classes[i]] || 0) + 1;
    const rows = await page.locator('.chosen tbody tr').evaluateAll((list) => list.map((r) => [r.cells[0].textContent, r.cells[1].textContent]));
    must(same(rows.map(([k, v]) => Number(v) === tally[k]), rows.map(() => true)) && rows.length === Object.keys(tally).length, JSON.stringify(rows));
    await page.locator('.chosen input[value="ids"]').check();
    must(same((await text()).split('\n'), got.map((i) => plan.main.truth.ids[i])), 'ids differ');
    await page.locator('[data-do="clear"]').click();
    must(await page.locator('.chosen').isHidden(), 'not cleared');
    await close();
  },

  async 'a class can be hidden, axes and colours chosen, the view zoomed'(browser) {
    const { page, close } = await open(browser, plan.main.file);
    await toMap(page);
    const first = await painted(page);
    await page.locator('.key button').first().click();
    await frames(page);
    const fewer = await painted(page);
    must(fewer.all < first.all * .9 && fewer.all > 100, `${first.all}, then ${fewer.all} pixels`);
    await page.locator('.key button').first().click();
    await frames(page);
    must((await painted(page)).sum === first.sum, 'not as before');
    const seen = [first.sum];
    const act = async (name, what) => {
      await what();
      await frames(page);
      const now = await painted(page);
      must(now.all > 100 && !seen.includes(now.sum), `${name} changes nothing`);
      seen.push(now.sum);
    };
    await act('axis', () => page.locator('select[name="y"]').selectOption('2'));
    await act('colour', () => page.locator('select[name="paint"]').selectOption('c0'));
    await act('button +', () => page.locator('[data-do="in"]').click());
    await act('wheel', async () => {
      await page.locator('.front').click();
      await page.mouse.wheel(0, -200);
    });
    await act('drag', async () => {
      const box = await page.locator('.front').boundingBox();
      await page.mouse.move(box.x + 300, box.y + 200);
      await page.mouse.down();
      await page.mouse.move(box.x + 380, box.y + 260);
      await page.mouse.up();
    });
    await close();
  },

  async 'everything can be done by keys'(browser) {
    const { page, close } = await open(browser, plan.main.file);
    for (let k = 0; k < 60; k++) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(() => document.activeElement.classList.contains('front'))) break;
    }
    must(await page.evaluate(() => document.activeElement.classList.contains('front')), 'the map cannot be reached');
    const first = await painted(page);
    await page.keyboard.press('+');
    await page.keyboard.press('ArrowRight');
    await frames(page);
    must((await painted(page)).sum !== first.sum, 'no zoom');
    await page.keyboard.press('0');
    await frames(page);
    must((await painted(page)).sum === first.sum, '0 does not show all');
    for (let k = 0; k < 3; k++) await page.keyboard.press('.');
    await page.keyboard.press(',');
    const said = await page.locator('.said').innerText();
    must(said.includes(plan.main.truth.ids[1]) && said.includes('row 1,'), said);
    await page.keyboard.press('Enter');
    await page.keyboard.press('.');
    await page.keyboard.press('Enter');
    must(await page.locator('.chosen textarea').inputValue() === '1\n2', 'Enter does not choose');
    await page.keyboard.press('Escape');
    must(await page.locator('.chosen').isHidden(), 'Escape does not clear');
    await close();
  },

  async 'row numbers in tables lead to the map'(browser) {
    const { page, close } = await open(browser, plan.main.file);
    const link = page.locator('#odd [data-row] button').first(), row = Number(await link.innerText());
    await link.click();
    must((await page.locator('.tip').innerText()).startsWith(`id ${plan.main.truth.ids[row]}`), 'another row');
    await close();
  },

  async 'axe-core finds nothing, in light and dark, wide and narrow'(browser) {
    for (const item of plan.pages) {
      for (const context of [{}, { colorScheme: 'dark' }, { viewport: { width: 380, height: 800 } }]) { // all of them on one page
        if (item.name !== 'main' && Object.keys(context).length && (context.viewport || item.name !== 'explorer')) continue;
        const { page, close } = await open(browser, item.file, { context, still: !item.truth });
        await page.evaluate(axe);
        const found = await page.evaluate(() => axe.run().then((r) => r.violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(' | ')}`)));
        must(!found.length, `${item.name}, ${JSON.stringify(context)}: ${found.join('; ')}`);
        await close();
      }
    }
  },

  async 'without scripts everything is there to read'(browser) {
    const { page, faults, close } = await open(browser, plan.main.file, { still: true, context: { javaScriptEnabled: false } });
    must(!faults.filter((f) => !/script/i.test(f)).length, faults.join('; '));
    must(await page.locator('.live').isHidden(), 'what needs the script is shown');
    for (const id of ['summary', 'map', 'spectrum', 'odd', 'columns', 'predictions']) must(await page.locator(`#${id} h2`).isVisible(), `no section ${id}`);
    must(await page.locator('#map .still svg').isVisible(), 'no picture of the rows');
    must((await page.locator('main').innerText()).includes('mercer fit'), 'no command');
    await close();
  },

  async 'on paper the pictures stand for the map'(browser) {
    const { page, close } = await open(browser, plan.main.file);
    await page.emulateMedia({ media: 'print' });
    must(await page.locator('.live').isHidden() && await page.locator('#map .still svg').isVisible() && await page.locator('nav').isHidden(), 'not for paper');
    const pdf = await page.pdf({ format: 'A4' });
    must(pdf.length > 20000 && pdf.subarray(0, 5).toString() === '%PDF-', `${pdf.length} bytes`);
    await close();
  },

  async 'dark is dark, and changes with the reader\'s choice'(browser) {
    const { page, close } = await open(browser, plan.main.file);
    const light = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const before = await light(), first = await painted(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await frames(page);
    must(before === 'rgb(255, 255, 255)' && await light() !== before, 'the page stays light');
    must((await painted(page)).sum !== first.sum, 'the map stays light');
    await close();
  },

  async 'names that look like markup stay text'(browser) {
    const { page, faults, close } = await open(browser, plan.nasty.file);
    await toMap(page);
    must(!faults.length, faults.join('; '));
    must(await page.evaluate(() => window.hacked === undefined && !document.querySelector('img, iframe, object, embed')), 'markup came alive');
    must(await page.evaluate(() => document.scripts.length) === 2, 'scripts were added');
    const text = await page.locator('body').innerText();
    for (const name of plan.nasty.names) must(text.includes(name), `not shown: ${name}`);
    await page.locator('.front').focus();
    await page.keyboard.press('.');
    must((await page.locator('.said').innerText()).includes(plan.nasty.names[0]), await page.locator('.said').innerText());
    must((await page.title()).includes('<b>'), await page.title());
    await close();
  },

  async 'without WebGL a canvas has the rows'(browser) {
    const before = () => {
      const get = HTMLCanvasElement.prototype.getContext;
      HTMLCanvasElement.prototype.getContext = function (kind, ...more) { return kind === 'webgl2' ? null : get.call(this, kind, ...more); };
    };
    const card = await open(browser, plan.main.file), one = await painted(card.page);
    await card.close();
    const { page, faults, close } = await open(browser, plan.main.file, { before }), two = await painted(page);
    must(!faults.length, faults.join('; '));
    must(Math.abs(one.all - two.all) < .25 * one.all, `${one.all} pixels by WebGL, ${two.all} without`);
    await close();
    const large = await open(browser, plan.large.file, { before });
    must((await large.page.locator('.some').innerText()).includes('20,000 of them are drawn'), 'does not say that some are drawn');
    must((await painted(large.page)).all > 5000, 'nothing drawn');
    await large.close();
  },

  async 'many rows are drawn, and a sample says that it is one'(browser) {
    const start = Date.now(), { page, faults, close } = await open(browser, plan.large.file);
    console.log(`  ${plan.large.rows} rows: ${(fs.statSync(plan.large.file).size / 1e6).toFixed(2)} MB, opened and drawn by software WebGL in ${Date.now() - start} ms`);
    must(!faults.length, faults.join('; '));
    must((await painted(page)).all > 20000, 'hardly anything drawn');
    await close();
    const sample = await open(browser, plan.sample.file, { still: true });
    await sample.page.waitForSelector('#map-live[data-drawn]');
    must((await sample.page.locator('#map').innerText()).includes(`200,000 of ${plan.sample.rows.toLocaleString('en')} rows`), 'does not say so');
    await sample.page.locator('.front').focus();
    await sample.page.keyboard.press('.');
    await sample.page.keyboard.press('.');
    const said = await sample.page.locator('.said').innerText(), step = plan.sample.rows / 200000;
    const stretch = Math.floor(2 * step) - Math.floor(step), second = Math.floor(step) + Math.floor(stretch * 0.6180339887498949);
    must(said.startsWith(`row ${second},`), `the second point is row ${second}: ${said}`);
    await sample.close();
  },

  async 'the explorer answers sliders and kernels with another picture'(browser) { // its numbers: test_report.py
    const { page, faults, close } = await open(browser, plan.explore.file), answers = [];
    const root = page.locator('#explore-live');
    const settled = () => page.waitForFunction(() => {
      const live = document.querySelector('#explore-live'), words = live.querySelector('.command pre').textContent.match(/-k (\w+)(?::\w+=(\S+))? -n (\d+)/);
      if (!live.dataset.answer || !words) return false;
      const answer = JSON.parse(live.dataset.answer);
      return answer.kernel === words[1] && (words[2] === undefined || answer.parameter === Number(words[2])) && answer.components === Number(words[3]);
    });
    const keep = async () => {
      await settled();
      answers.push({ command: await root.locator('.command pre').innerText(), ...JSON.parse(await root.getAttribute('data-answer')),
        features: await page.evaluate(() => document.querySelector('#explore-live').features.map((f) => Array.from(f))) });
    };
    const picture = () => page.evaluate(() => [...document.querySelectorAll('.explore canvas')].map((c) => c.toDataURL()).join());
    await keep();
    must(answers[0].command.includes('-k rbf:sigma=2 -n 6 --scale standard --label kind'), answers[0].command);
    const seen = new Set([await picture()]);
    for (const kernel of ['rbf', 'linear', 'cosine', 'poly', 'laplacian', 'matern', 'exponential']) {
      await root.locator('select').selectOption(kernel);
      await keep();
      for (const at of ['linear', 'cosine'].includes(kernel) ? [] : [300, 480, 700]) {
        await root.locator('#explore-key').fill(String(at));
        await keep();
        const now = await picture();
        must(!seen.has(now), `${kernel} at ${at}: the same picture`);
        seen.add(now);
      }
    }
    const before = await picture();
    await root.locator('#explore-parts').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await keep();
    must(answers.at(-1).components === 8 && await picture() !== before, 'keys do not move the slider');
    must(!faults.length, faults.join('; '));
    fs.writeFileSync(path.join(plan.folder, 'explorer.json'), JSON.stringify(answers));
    await close();
  },

  async 'pictures of the page'(browser) { // compared by test_report.py
    for (const [name, context] of [['light', {}], ['dark', { colorScheme: 'dark' }]]) {
      const { page, close } = await open(browser, plan.main.file, { context });
      await page.locator('.stage').screenshot({ path: path.join(plan.folder, `map-${name}.png`) });
      await close();
    }
  },

  async 'pictures by mercer plot'(browser) { // compared with those of another program by test_report.py
    for (const file of plan.svg) {
      const { page, faults, close } = await open(browser, file, { still: true });
      const [width, height] = await page.evaluate(() => ['width', 'height'].map((name) => Math.floor(Number(document.documentElement.getAttribute(name)))));
      must(width > 100 && width <= 1100 && height > 100 && height <= 900, `${file}: ${width} x ${height}`);
      await page.screenshot({ path: path.join(plan.folder, 'svg', `${path.basename(file, '.svg')}.png`), clip: { x: 0, y: 0, width, height } });
      const told = faults.filter((fault) => !fault.startsWith('request: data:')); // an image inside the file
      must(!told.length, `${file}: ${told.join('; ')}`);
      await close();
    }
  },
};

(async () => {
  const browser = await chromium.launch({ executablePath: plan.browser, args: ARGS, timeout: LIMIT });
  for (const [name, test] of Object.entries(tests)) {
    if (plan.only.length && !plan.only.some((word) => name.includes(word))) continue;
    try {
      let timer;
      await Promise.race([test(browser), new Promise((_, late) => { timer = setTimeout(() => late(new Error(`not done in ${LIMIT / 1000} s`)), LIMIT); })]).finally(() => clearTimeout(timer));
      console.log(`ok ${name}`);
    } catch (error) {
      console.log(`FAIL ${name}: ${String(error.message).split('\n').slice(0, 4).join(' / ')}`);
    }
    for (const context of browser.contexts()) await context.close();
  }
  await browser.close();
})().catch((error) => { console.log(`FAIL the browser: ${error.message}`); process.exit(0); });
