// SPDX-License-Identifier: Apache-2.0
'use strict';
const parse = (id) => JSON.parse(document.getElementById(id).textContent);
const words = parse('words'), pages = parse('pages');
const word = (key) => words[key] ?? key;
const el = (name, ...children) => {
  const e = document.createElement(name);
  e.append(...children);
  return e;
};
const isObject = (v) => v !== null && typeof v === 'object';
const shown = (key, v) => {
  if (v === null) return word('none');
  if (Array.isArray(v)) return v.every(isObject) && v.length > 0 ? table(v) : v.join(', ') || word('none');
  if (isObject(v)) return pairs(v);
  return typeof v === 'boolean' ? word(String(v)) : words[`${key}=${v}`] ?? String(v);
};
/** Members below one another. */
const pairs = (object) => el('table', ...Object.entries(object).map(([k, v]) =>
  el('tr', el('th', word(k)), el('td', shown(k, v)))));
/** Items of an array, a row each. */
const table = (items) => {
  const keys = [...new Set(items.flatMap(Object.keys))];
  return el('table', el('tr', ...keys.map((k) => el('th', word(k)))),
    ...items.map((item) => el('tr', ...keys.map((k) => el('td', k in item ? shown(k, item[k]) : '')))));
};
const links = () => el('table', ...pages.map(({ path, help, is_link }) => {
  const a = el(is_link ? 'a' : 'span', path);
  if (is_link) a.href = path;
  return el('tr', el('td', a), el('td', help));
}));
const fill = (status) => {
  const all = Object.entries(status);
  const plain = Object.fromEntries(all.filter(([, v]) => !isObject(v)));
  const nested = all.filter(([, v]) => isObject(v));
  document.getElementById('state').textContent = `${status.version} · ${shown('state', status.state)}`;
  document.querySelector('main').replaceChildren(pairs(plain),
    ...nested.flatMap(([k, v]) => [el('h2', word(k)), shown(k, v)]), el('h2', word('pages')), links());
};
fill(parse('status'));
setInterval(async () => {
  let isThere = false;
  try {
    const answer = await fetch('/api/v1/status');
    if (answer.ok) fill(await answer.json());
    isThere = answer.ok;
  } catch {}
  document.getElementById('stale').textContent = isThere ? '' : word('stale');
}, 2000);
