import { AsyncLocalStorage } from 'node:async_hooks';
import { openSync, writeSync } from 'node:fs';
import type { DecisionEvent } from 'nestjs-floodgate';
import type { Class } from '../policies.js';
import { now, type Span } from '../clock.js';
import type { Decided } from '../history.js';

/** A request, as its sender described it. */
export interface Asked {
  readonly id: string;
  /** The path of a route, or the policies of a direct call. */
  readonly what: string;
  readonly user: string;
  readonly address: string;
  readonly cost: number;
  /** The class of a direct call; default the first one. */
  readonly priority?: Class | undefined;
  /** Whether what it was charged is refunded when it expires. */
  readonly refunded?: boolean;
}

/** A line of a pod's history. Its times are those of `now()`. */
export type Line =
  | (Asked & { readonly kind: 'asked'; readonly askedAt: number })
  | ({ readonly kind: 'decided'; readonly id: string } & Omit<Decided, 'request' | 'process' | 'askedAt' | 'policies'>)
  | { readonly kind: 'handled'; readonly id: string; readonly at: number }
  /** A question for a place. */
  | { readonly kind: 'places'; readonly at: number }
  | ({ readonly kind: 'stalls' } & Span)
  | { readonly kind: 'logs'; readonly at: number; readonly level: string; readonly text: string }
  | { readonly kind: 'heaps'; readonly at: number; readonly bytes: number }
  | { readonly kind: 'wrong'; readonly at: number; readonly text: string };

/** The request that the running code belongs to. */
export const asking = new AsyncLocalStorage<Asked>();

/** Writes the history of this process to a file at the end of each turn of the event loop: a SIGKILL loses one turn. */
export class Recorder {
  private readonly file: number;
  private lines: Line[] = [];

  constructor(path: string) {
    this.file = openSync(path, 'a');
  }

  asked(asked: Asked): void {
    this.add({ kind: 'asked', askedAt: now(), ...asked });
    this.flush(); // before the request reaches Redis, so that a SIGKILL cannot hide a charge
  }

  /** The module's `onDecision`. */
  decided({ decision, source, route, durationMs }: DecisionEvent): void {
    const asked = asking.getStore();
    if (asked === undefined) this.wrong(`onDecision was called outside of a request's context (${route})`);
    const { allowed, decidedAtMs, delayMs, policies } = decision;
    this.add({
      kind: 'decided',
      id: asked?.id ?? '?',
      decidedAt: now(),
      source,
      allowed,
      at: Math.round(decidedAtMs * 1000),
      durationMs,
      delayMs,
      before: route?.startsWith('RateLimitMiddleware') === true,
      remaining: Object.fromEntries(policies.map(({ policy, remaining }) => [policy, remaining])),
    });
  }

  /** Records an event that must not happen. */
  wrong(text: string): void {
    this.add({ kind: 'wrong', at: now(), text });
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
