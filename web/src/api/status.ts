// SPDX-License-Identifier: Apache-2.0
import { getJson } from './http';

export interface Upstream {
  name: string;
  url: string;
  in_flight: number;
  waiting: number;
  waiting_batch: number;
  rejected: number;
  breaker: string;
  failures_in_row: number;
}
export interface Status {
  version: string;
  state: string;
  started: string;
  uptime_s: number;
  config_file: string | null;
  workers: number;
  in_flight: number;
  client_connections: number;
  upstream_connections: number;
  last_reload: { at: string; status: string; changed?: string[]; error?: string } | null;
  drops: { cause: string; n: number }[];
  history?: { state: string; error?: string; series: number; series_disk_bytes: number; rows_written: number; rows_disk_bytes: number; rows_waiting: number; rows_lost: number } | null;
  rules?: { state: string; groups: number; rules: number; alerts_pending: number; alerts_firing: number; evaluations_failed: number; evaluations_missed: number } | null;
  upstreams: Upstream[];
}

export const status = (signal?: AbortSignal): Promise<Status> => getJson('/api/v1/status', {}, signal);
