// SPDX-License-Identifier: Apache-2.0
/** Curves of an incident as pictures. Pure. */
import type { Incident, IncidentCurve } from '../api/incidents';
import type { Mark, Picture } from '../charts/lines';
import { toSeconds } from '../format/time';
import type { Unit } from '../format/units';
import { MAX_LINES } from './curves';

const AROUND_S = 1800;

/** From half an hour before to half an hour behind, as parameters of an address. */
export function timesOf(i: Incident): { from: string; to: string } {
  const from = toSeconds(i.started_at)! - AROUND_S;
  const to = Math.min((toSeconds(i.ended_at) ?? Date.now() / 1000) + AROUND_S, Date.now() / 1000);
  return { from: String(Math.floor(from)), to: String(Math.ceil(to)) };
}

function unitOf(curve: IncidentCurve): Unit {
  if (curve.unit === 's') return 'seconds';
  if (curve.unit === '1/s') return curve.name === 'tokens' ? 'tokens/s' : 'per_s';
  return curve.name.endsWith('ratio') || curve.name === 'engine_kv' ? 'ratio' : 'count';
}

export function incidentPicture(curve: IncidentCurve, marks: Mark[]): Picture {
  const start = toSeconds(curve.from ?? null) ?? 0;
  const step = curve.step_seconds ?? 15;
  const lines = (curve.series ?? []).slice(0, MAX_LINES).map((s) => ({
    name: Object.values(s.labels).join(' · ') || curve.name,
    points: s.values.flatMap((v, k) => (v === null ? [] : [[start + k * step, v] as [number, number]])),
  })).filter((l) => l.points.length > 0);
  const length = Math.max(1, ...(curve.series ?? []).map((s) => s.values.length));
  return { lines, unit: unitOf(curve), start, end: start + length * step, step, marks };
}
