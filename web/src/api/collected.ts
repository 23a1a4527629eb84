// SPDX-License-Identifier: Apache-2.0
import { getJson } from './http';
import type { Labels } from './prom';

export interface Signal {
  signal: string;
  series: string;
  engine: string;
  from: string[];
  note: string | null;
}
export interface Target {
  job: string;
  url: string;
  labels: Labels;
  health: string;
  fault: string | null;
  words: string | null;
  interval_s: number;
  last_ms: number | null;
  took_s: number;
  n_samples: number;
  engines?: { name: string; title: string; edition: string | null; since: string; until: string }[];
  signals?: Signal[];
  missing?: { signal: string; reason?: string; words?: string }[];
}
export interface Source {
  name: string;
  cluster: string | null;
  state: string;
  words: string | null;
  n_samples: number;
}
export interface Collected {
  targets: Target[];
  sources: Source[];
}

/** A gateway that keeps nothing scrapes nothing. */
export async function collected(signal?: AbortSignal): Promise<Collected> {
  const { targets = [], sources = [] } = await getJson<Partial<Collected>>('/api/v1/collected', {}, signal);
  return { targets, sources };
}
