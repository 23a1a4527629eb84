// SPDX-License-Identifier: Apache-2.0
/**
 * Requests to the gateway that served this page. A few at a time, so that a page does not take all of its threads of
 * queries; each can be given up by its signal.
 */
import { csrfToken, goToLogin } from './session';

export class AskError extends Error {
  constructor(
    readonly kind: 'offline' | 'denied' | 'refused' | 'failed',
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

const AT_ONCE = 4;
let underWay = 0;
const waiting: (() => void)[] = [];

async function turn<T>(work: () => Promise<T>): Promise<T> {
  if (underWay >= AT_ONCE) await new Promise<void>((go) => waiting.push(go));
  underWay++;
  try {
    return await work();
  } finally {
    underWay--;
    waiting.shift()?.();
  }
}

/** What an answer that is an error says: {"error": text} or Prometheus' form of it. */
async function errorOf(answer: Response): Promise<AskError> {
  const text = await answer.text();
  let message = text.slice(0, 500);
  try {
    const { error } = JSON.parse(text);
    if (typeof error === 'string') message = error;
  } catch {
    message ||= answer.statusText;
  }
  if (answer.status === 401) goToLogin();
  const kind = answer.status === 401 || answer.status === 403 ? 'denied' : answer.status < 500 ? 'refused' : 'failed';
  return new AskError(kind, answer.status, message);
}

async function ask(path: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(path, { credentials: 'same-origin', ...init });
  } catch (e) {
    if (init.signal?.aborted) throw e;
    throw new AskError('offline', 0, String((e as Error).message));
  }
  if (!answer.ok) throw await errorOf(answer);
  return answer;
}

export function getJson<T>(path: string, params: Record<string, string> = {}, signal?: AbortSignal): Promise<T> {
  const query = new URLSearchParams(params).toString();
  return turn(async () => {
    signal?.throwIfAborted();
    return (await ask(query ? `${path}?${query}` : path, { signal })).json() as Promise<T>;
  });
}

/** Something is changed: a form, or JSON. */
export async function post<T>(path: string, body: { form: Record<string, string> } | { json: unknown }): Promise<T | null> {
  const headers: Record<string, string> = { 'X-Inferometer-CSRF': csrfToken() };
  let text: string;
  if ('form' in body) {
    headers['Content-Type'] = 'application/x-www-form-urlencoded';
    text = new URLSearchParams(body.form).toString();
  } else {
    headers['Content-Type'] = 'application/json';
    text = JSON.stringify(body.json);
  }
  const answer = await ask(path, { method: 'POST', headers, body: text });
  return answer.headers.get('content-type')?.includes('json') ? ((await answer.json()) as T) : null;
}

export async function remove(path: string): Promise<void> {
  await ask(path, { method: 'DELETE', headers: { 'X-Inferometer-CSRF': csrfToken() } });
}
