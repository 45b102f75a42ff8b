import { AsyncLocalStorage } from 'node:async_hooks';
import { openSync, writeSync } from 'node:fs';
import type { DecisionEvent } from 'nestjs-floodgate';
import type { Class } from '../policies.js';
import { now, type Span } from '../clock.js';

/** A request, as its sender described it. */
export interface Asked {
  readonly id: string;
  /** The route, or the policies of a direct call. */
  readonly what: string;
  readonly user: string;
  readonly address: string;
  readonly cost: number;
  /** The class of a direct call; default the first one. */
  readonly priority?: Class | undefined;
  /** Whether what it was charged is refunded when it expires. */
  readonly refunded?: boolean;
}

/** A line of a pod's history: its kind, its time (`now()`), and more. */
export type Line =
  | readonly ['asked', number, string, string, string, string, number, Class | null, refunded: 0 | 1]
  | readonly [
      'decided',
      at: number,
      id: string,
      source: DecisionEvent['source'],
      allowed: 0 | 1,
      decidedAtUs: number,
      durationMs: number,
      delayMs: number,
      before: 0 | 1,
      remaining: Readonly<Record<string, number>>,
      limits: Readonly<Record<string, number>>,
    ]
  | readonly ['handled', number, string]
  | readonly ['answered', number, string, number, number]
  | readonly ['stall', number, number]
  | readonly ['log', number, string, string]
  | readonly ['file', number, number]
  | readonly ['heap', number, number]
  | readonly ['connection', at: number, status: string]
  | readonly ['wrong', number, string];

/** The request that the running code belongs to. */
export const asking = new AsyncLocalStorage<Asked>();

/** Writes the history of this process to a file at the end of each turn of the event loop: a SIGKILL loses one turn. */
export class Recorder {
  private readonly file: number;
  private lines: Line[] = [];

  constructor(path: string) {
    this.file = openSync(path, 'a');
  }

  asked({ id, what, user, address, cost, priority, refunded = false }: Asked): void {
    this.add(['asked', now(), id, what, user, address, cost, priority ?? null, refunded ? 1 : 0]);
    this.flush(); // before the request reaches Redis, so that a SIGKILL cannot hide a charge
  }

  /** The module's `onDecision`. */
  decided({ decision, source, route, durationMs }: DecisionEvent): void {
    const asked = asking.getStore();
    if (asked === undefined) this.wrong(`onDecision was called outside of a request's context (${route})`);
    const { allowed, decidedAtMs, delayMs, policies } = decision;
    this.add([
      'decided',
      now(),
      asked?.id ?? '?',
      source,
      allowed ? 1 : 0,
      Math.round(decidedAtMs * 1000),
      durationMs,
      delayMs,
      route?.startsWith('RateLimitMiddleware') === true ? 1 : 0,
      Object.fromEntries(policies.map(({ policy, remaining }) => [policy, remaining])),
      Object.fromEntries(policies.map(({ policy, limit }) => [policy, limit])),
    ]);
  }

  handled(id: string): void {
    this.add(['handled', now(), id]);
  }

  stalled({ from, to }: Span): void {
    this.add(['stall', from, to]);
  }

  /** Records an event that must not happen. */
  wrong(text: string): void {
    this.add(['wrong', now(), text]);
    this.flush();
  }

  add(line: Line): void {
    if (this.lines.push(line) === 1) setImmediate(() => this.flush());
  }

  flush(): void {
    const { lines } = this;
    if (lines.length === 0) return;
    this.lines = [];
    writeSync(this.file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  }
}
