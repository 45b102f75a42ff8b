import { type Run, runOf } from '../checks/check.js';
import { type Decided, emptyHistory, type ProcessHistory, type Request } from '../history.js';
import type { FaultKind } from '../plan.js';
import { type Class, LEDGER_LIMIT, type PolicyName } from '../policies.js';
import type { Injury } from '../run/perform.js';

/** The evidence of an invented run: two pods, a wall clock a million seconds ahead, and the events that a test adds. */
export class Evidence {
  readonly wallAheadMs = 1_000_000_000;
  readonly parts: { -readonly [Field in keyof Run]?: Run[Field] } = {};
  private readonly processes = [0, 1].map((pod) => emptyHistory(`pod-${pod}-0`, `pod-${pod}-0.jsonl`, pod));
  private readonly injuries: Injury[] = [];
  private count = 0;

  get run(): Run {
    return runOf({
      began: 0,
      ended: 60_000,
      injuries: this.injuries,
      histories: this.processes,
      sent: [],
      turns: [],
      placesLeft: 0,
      writes: new Map(),
      slow: [],
      clientStalls: [],
      wallAheadMs: this.wallAheadMs,
      away: [[], []],
      wrong: [],
      ...this.parts,
    });
  }

  process(pod: number): ProcessHistory {
    return this.processes[pod]!;
  }

  fault(kind: FaultKind, from: number, to: number, pod?: number): void {
    this.injuries.push({
      from,
      to,
      fault: { kind, at: from, forMs: to - from, amount: 0, ...(pod !== undefined && { pod }) },
    });
  }

  /** Adds a request that was answered at `at`, a millisecond after it was sent. @param given fields that differ from the usual */
  decided(
    policies: readonly PolicyName[],
    at: number,
    given: Partial<Decided> & {
      readonly pod?: number;
      readonly cost?: number;
      readonly charges?: number;
      readonly priority?: Class;
    } = {},
  ): Request {
    const { pod = 0, cost = 1, charges, priority, ...rest } = given;
    const process = this.process(pod);
    const request: Request = {
      id: `request-${this.count++}`,
      askedAt: at - (rest.durationMs ?? 1),
      policies,
      user: 'ada',
      address: '127.0.0.2',
      cost,
      priority,
    };
    const decided: Decided = {
      request,
      process,
      askedAt: request.askedAt,
      decidedAt: at,
      source: 'store',
      allowed: true,
      at: Math.round((at - 0.5 + this.wallAheadMs) * 1000),
      durationMs: 1,
      delayMs: 0,
      before: false,
      policies,
      remaining: charges === undefined ? {} : { ledger: LEDGER_LIMIT - charges },
      ...rest,
    };
    request.decided = decided;
    process.requests.push(request);
    process.decided.push(decided);
    return request;
  }
}

export const textsOf = ({ failures }: { failures: readonly { text: string }[] }): string[] =>
  failures.map(({ text }) => text);
