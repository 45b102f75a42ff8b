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
  /** The limit by which each policy decided: without Redis the process's share. */
  readonly limits: Readonly<Record<string, number>>;
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
  readonly requests: readonly Request[];
  readonly decided: readonly Decided[];
  /** In order, without overlaps. */
  readonly stalls: readonly Span[];
  readonly logs: readonly { readonly at: number; readonly level: string; readonly text: string }[];
  readonly files: readonly Span[];
  readonly heaps: readonly { readonly at: number; readonly bytes: number }[];
  readonly wrong: readonly { readonly at: number; readonly text: string }[];
}

/** The history that a process wrote. */
export function readHistory(name: string, path: string, pod: number): ProcessHistory {
  const requests = new Map<string, Request>();
  const decided: Decided[] = [];
  const stalls: Span[] = [];
  const [logs, files, heaps, wrong] = [[], [], [], []] as [
    ProcessHistory['logs'][number][],
    Span[],
    ProcessHistory['heaps'][number][],
    ProcessHistory['wrong'][number][],
  ];
  const history = { name, path, pod, requests: [] as Request[], decided, stalls, logs, files, heaps, wrong };
  const readLine = (line: Line): void => {
    switch (line[0]) {
      case 'asked': {
        const [, askedAt, id, what, user, address, cost, priority, refunded] = line;
        requests.set(id, {
          id,
          askedAt,
          policies: policiesOf(what),
          user,
          address,
          cost,
          priority: priority ?? undefined,
          refunded: refunded === 1,
        });
        break;
      }
      case 'decided': {
        const [, at, id, source, allowed, decidedAtUs, durationMs, delayMs, before, remaining, limits] = line;
        const request = requests.get(id);
        if (request === undefined) break; // the process has reported it already
        const one: Decided = {
          request,
          process: history,
          askedAt: at - durationMs,
          decidedAt: at,
          source,
          allowed: allowed === 1,
          at: decidedAtUs,
          durationMs,
          delayMs,
          before: before === 1,
          policies: before === 1 ? ['gate'] : withElse(request.policies, remaining),
          remaining,
          limits,
        };
        const role = one.before ? 'before' : 'decided';
        if (request[role] !== undefined) wrong.push({ at, text: `${id} was decided twice` });
        request[role] = one;
        decided.push(one);
        break;
      }
      case 'handled': {
        const request = requests.get(line[2]);
        if (request !== undefined) request.handledAt = line[1];
        break;
      }
      case 'stall':
        stalls.push({ from: line[1], to: line[2] });
        break;
      case 'log':
        logs.push({ at: line[1], level: line[2], text: line[3] });
        break;
      case 'file':
        files.push({ from: line[1], to: line[2] });
        break;
      case 'heap':
        heaps.push({ at: line[1], bytes: line[2] });
        break;
      case 'wrong':
        wrong.push({ at: line[1], text: line[2] });
        break;
      case 'answered':
      case 'connection': // for readers of the file only
    }
  };
  for (const text of readFileSync(path, 'utf8').split('\n')) {
    if (text === '') continue;
    let line: Line;
    try {
      line = JSON.parse(text) as Line;
    } catch {
      continue; // The last line of a process that was killed.
    }
    readLine(line);
  }
  history.requests.push(...requests.values());
  history.stalls.splice(0, stalls.length, ...union(stalls));
  return history;
}

function policiesOf(what: string): readonly PolicyName[] {
  return what in ROUTES ? ROUTES[what as RouteName] : (what.split(',') as PolicyName[]);
}
