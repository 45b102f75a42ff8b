import { readFileSync } from 'node:fs';
import type { DecisionEvent } from 'nestjs-floodgate';
import { type Span, union } from './clock.js';
import type { Line } from './pod/recorder.js';
import { type Class, type PolicyName, type RouteName, ROUTES, withElse } from './policies.js';

/** A call of the limiter and its decision. An HTTP request makes two calls: in the middleware and on its route. */
export interface Decided {
  readonly request: Request;
  /** The history of the process that made the call. */
  readonly process: ProcessHistory;
  readonly askedAt: number;
  readonly decidedAt: number;
  readonly source: DecisionEvent['source'];
  readonly allowed: boolean;
  /** The store's clock, in microseconds. */
  readonly at: number;
  readonly durationMs: number;
  readonly delayMs: number;
  /** Whether the module's middleware made the call. */
  readonly before: boolean;
  readonly policies: readonly PolicyName[];
  /** The `remaining` of each policy. Empty when the store did not decide. */
  readonly remaining: Readonly<Record<string, number>>;
}

export interface Request {
  readonly id: string;
  readonly askedAt: number;
  readonly policies: readonly PolicyName[];
  readonly user: string;
  readonly address: string;
  readonly cost: number;
  /** Its class under policies with priorities; default the first one. */
  readonly priority?: Class | undefined;
  /** Whether what it was charged is refunded when it expires. */
  readonly refunded?: boolean;
  before?: Decided;
  decided?: Decided;
  /** When its handler ran. */
  handledAt?: number;
}

export interface ProcessHistory {
  readonly name: string;
  readonly path: string;
  readonly pod: number;
  readonly requests: Request[];
  readonly decided: Decided[];
  /** In order, without overlaps. */
  readonly stalls: Span[];
  readonly logs: { readonly at: number; readonly level: string; readonly text: string }[];
  readonly heaps: { readonly at: number; readonly bytes: number }[];
  /** The questions for places. */
  readonly places: { readonly at: number }[];
  readonly wrong: { readonly at: number; readonly text: string }[];
}

export function emptyHistory(name: string, path: string, pod: number): ProcessHistory {
  return { name, path, pod, requests: [], decided: [], stalls: [], logs: [], heaps: [], places: [], wrong: [] };
}

/** The history that a process wrote. */
export function readHistory(name: string, path: string, pod: number): ProcessHistory {
  const history = emptyHistory(name, path, pod);
  const requests = new Map<string, Request>();
  for (const text of readFileSync(path, 'utf8').split('\n')) {
    const line = parse(text);
    if (line === undefined) continue;
    if (line.kind === 'asked') {
      const { kind: _, what, ...request } = line;
      requests.set(line.id, { ...request, policies: policiesOf(what) });
    } else if (line.kind === 'decided') {
      const { kind: _, id, ...decision } = line;
      const { before, remaining, decidedAt, durationMs } = decision;
      const request = requests.get(id);
      if (request === undefined) continue; // the process has reported it already
      const askedAt = decidedAt - durationMs;
      const policies = before ? ['gate' as const] : withElse(request.policies, remaining);
      const role = before ? 'before' : 'decided';
      if (request[role] !== undefined) history.wrong.push({ at: decidedAt, text: `${id} was decided twice` });
      request[role] = { ...decision, request, process: history, askedAt, policies };
      history.decided.push(request[role]);
    } else if (line.kind === 'handled') {
      const request = requests.get(line.id);
      if (request !== undefined) request.handledAt = line.at;
    } else {
      (history[line.kind] as object[]).push(line);
    }
  }
  history.requests.push(...requests.values());
  history.stalls.splice(0, Infinity, ...union(history.stalls));
  return history;
}

/** Returns undefined for the last line of a process that was killed. */
function parse(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}

function policiesOf(what: string): readonly PolicyName[] {
  return what.startsWith('/') ? ROUTES[what.slice(1) as RouteName] : (what.split(',') as PolicyName[]);
}
