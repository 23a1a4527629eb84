// SPDX-License-Identifier: Apache-2.0
import { getJson } from './http';

/** Of so many tokens; model is a whole name, or a beginning and *. */
export interface Price {
  model: string;
  prompt: number;
  cached: number;
  completion: number;
}
export interface Prices {
  currency: string;
  tokens: number;
  models: Price[]; // the first that fits counts
}

export const prices = (signal?: AbortSignal): Promise<Prices> => getJson('/api/v1/prices', {}, signal);
