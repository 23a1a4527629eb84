// SPDX-License-Identifier: Apache-2.0
// Made up alerts and routes: the same ones every time for one seed.

export function generator(seed) {
  let state = seed >>> 0;
  const next = () => { // mulberry32
    state = (state + 0x6d2b79f5) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
  const below = (n) => Math.floor(next() * n);
  const pick = (list) => list[below(list.length)];
  return { below, pick, chance: (p) => next() < p };
}

// --- trees of routes ---

const NAMES = ['a', 'b', 'c', 'd'];
const VALUES = ['', '1', '2', 'x1', 'xy', 'é'];
const PATTERNS = ['1|2', 'x.*', '.+', '.*', '[12]', 'x(1|y)', 'é|', '\\d', '1.*|'];

const matcher = (g) => (g.chance(0.5)
  ? `${g.pick(NAMES)}${g.pick(['=', '!='])}${g.chance(0.5) ? `"${g.pick(VALUES)}"` : g.pick(VALUES)}`
  : `${g.pick(NAMES)}${g.pick(['=~', '!~'])}"${g.pick(PATTERNS)}"`);

function randomRoute(g, depth, receivers) {
  const route = {};
  if (depth > 1) {
    route.matchers = Array.from({ length: g.below(3) }, () => matcher(g));
    if (g.chance(0.2)) route.match = { [g.pick(NAMES)]: g.pick(VALUES) };
    if (g.chance(0.2)) route.match_re = { [g.pick(NAMES)]: g.pick(PATTERNS) };
    if (g.chance(0.4)) route.continue = true;
  }
  if (depth === 1 || g.chance(0.8)) {
    route.receiver = `r${receivers.length}`;
    receivers.push({ name: route.receiver });
  }
  if (depth < 4) {
    const n = depth === 1 ? 3 + g.below(3) : g.below(3);
    route.routes = Array.from({ length: n }, () => randomRoute(g, depth + 1, receivers));
  }
  return route;
}

export function randomTree(g) {
  const receivers = [];
  const route = randomRoute(g, 1, receivers);
  return { route, receivers };
}

/** { a: '1', c: 'xy' }: without empty ones. */
export function randomLabels(g) {
  const labels = {};
  for (const name of NAMES) {
    const value = g.pick(VALUES);
    if (value !== '') labels[name] = value;
  }
  return labels;
}

// --- what happens to alerts ---

const SECONDS = 12;

/** Events at even seconds: { at, fire | end: labels, holds } or { at, silence: name, for }. */
export function randomEvents(g, scenario, { silences = false } = {}) {
  const pool = Array.from({ length: 6 }, (_, i) => ({
    alertname: `n${scenario}_${i}`,
    sc: `${scenario}`,
    g: `${i % 2}`,
    s: `${g.below(3)}`,
    ...(g.chance(0.3) ? { extra: 'x' } : {}),
    // Alerts that something may keep quiet do not end: what happens then is where we differ.
    ...(silences && i >= 3 ? { target: '1' } : {}),
  }));
  const firing = new Set();
  const events = [];
  for (let at = 0; at <= SECONDS; at += 2) {
    for (let n = g.below(3) + (at === 0 ? 1 : 0); n > 0; n -= 1) {
      const alert = g.pick(pool);
      if (firing.has(alert) && !alert.target) {
        events.push({ at, end: alert });
        firing.delete(alert);
      } else if (!firing.has(alert)) {
        const short = !alert.target && g.chance(0.15);
        events.push({ at, fire: alert, holds: short ? 3.6 : 3600 });
        if (!short) firing.add(alert);
      }
    }
    if (silences && g.chance(0.2))
      events.push({ at, silence: g.pick(pool.slice(3)).alertname, for: 2.6 + 2 * g.below(3) });
  }
  return events;
}
