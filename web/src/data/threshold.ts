// SPDX-License-Identifier: Apache-2.0
/**
 * The measured side of an alert's expression and the side that it is compared with, to draw one against the other:
 * of "(a / b > on () group_left () max(t)) and c > 5" these are "a / b" and "max(t)". Pure.
 */
export interface Comparison {
  value: string;
  sign: string;
  threshold: string;
}

const COMPARED = /^(>=|<=|==|!=|>|<)/;
const JOINED = /^(and|or|unless)\b/;
const MODIFIER = /^\s*(?:bool\b|(?:on|ignoring|group_left|group_right)\s*(?:\([^)]*\))?)/;

/** Position of the first match of a pattern outside of parentheses, braces, brackets and quotes; -1: none. */
function outside(text: string, pattern: RegExp): number {
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"' || c === "'" || c === '`') i = endOfQuote(text, i);
    else if ('({['.includes(c)) depth++;
    else if (')}]'.includes(c)) depth--;
    else if (depth === 0 && !/\w/.test(text[i - 1] ?? ' ') && pattern.test(text.slice(i))) return i;
    else if (depth === 0 && /[<>=!]/.test(c) && pattern.test(text.slice(i))) return i;
  }
  return -1;
}

function endOfQuote(text: string, from: number): number {
  for (let i = from + 1; i < text.length; i++) {
    if (text[i] === '\\' && text[from] !== '`') i++;
    else if (text[i] === text[from]) return i;
  }
  return text.length;
}

/** Without parentheses that are around all of it. */
function bare(text: string): string {
  let s = text.trim();
  while (s.startsWith('(') && closing(s) === s.length - 1) s = s.slice(1, -1).trim();
  return s;
}

function closing(s: string): number {
  let depth = 0;
  for (let i = 0; i < s.length; i++) {
    if (s[i] === '"' || s[i] === "'" || s[i] === '`') i = endOfQuote(s, i);
    else if (s[i] === '(') depth++;
    else if (s[i] === ')' && --depth === 0) return i;
  }
  return -1;
}

export function comparison(expr: string): Comparison | null {
  let s = bare(expr);
  for (let at = outside(s, JOINED); at > 0; at = outside(s, JOINED)) s = bare(s.slice(0, at));
  const at = outside(s, COMPARED);
  if (at <= 0) return null;
  const sign = COMPARED.exec(s.slice(at))![1];
  let threshold = s.slice(at + sign.length);
  while (MODIFIER.test(threshold)) threshold = threshold.replace(MODIFIER, '');
  return { value: s.slice(0, at).trim(), sign, threshold: bare(threshold) };
}
