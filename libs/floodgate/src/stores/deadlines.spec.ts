import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { histories } from '../../../../test/support/property-runs.js';
import { Deadlines, type LoopTime, type PendingDeadline } from './deadlines.js';

const MS = 50;

/** A callback of the poll phase: it computes, then asks, then computes again. Milliseconds. */
interface Arrival {
  readonly at: number;
  readonly beforeMs: number;
  readonly afterMs: number;
  readonly asks: 'nothing' | 'at once' | 'in the check phase';
  /** When the answer is ready to be read; undefined: never. */
  readonly latencyMs: number | undefined;
}

interface Asked {
  readonly at: number;
  readonly latencyMs: number | undefined;
  deadline?: PendingDeadline;
  answered: boolean;
  /** How long it had been open when it expired. */
  expiredAfterMs?: number;
}

interface Event {
  readonly at: number;
  readonly run: () => void;
}

/** Node's event loop on a clock of its own: timers, poll, check. A poll phase runs what was ready when it began. */
class VirtualLoop implements LoopTime {
  private clock = 0;
  private timers: Event[] = [];
  private immediates: (() => void)[] = [];
  private events: Event[] = [];
  /** The longest turn so far. */
  longestTurnMs = 0;

  readonly now = (): number => this.clock;
  readonly later = (run: () => void, ms: number): { ref(): void; unref(): void } => {
    this.timers.push({ at: this.clock + ms, run });
    return { ref: () => undefined, unref: () => undefined };
  };
  readonly turn = (run: () => void): void => void this.immediates.push(run);

  at(at: number, run: () => void): void {
    this.events.push({ at, run });
  }

  compute(ms: number): void {
    this.clock += ms;
  }

  run(): void {
    while (this.timers.length + this.immediates.length + this.events.length > 0) {
      const since = this.clock;
      for (const { run } of this.due('timers')) run();
      if (this.immediates.length === 0 && this.due('events', false).length === 0) {
        const next = Math.min(...[...this.timers, ...this.events].map(({ at }) => at));
        if (Number.isFinite(next)) this.clock = Math.max(this.clock, next);
      }
      for (const { run } of this.due('events')) run();
      const { immediates } = this;
      this.immediates = [];
      for (const run of immediates) run();
      this.longestTurnMs = Math.max(this.longestTurnMs, this.clock - since);
    }
  }

  private due(kind: 'timers' | 'events', take = true): Event[] {
    const due = this[kind].filter(({ at }) => at <= this.clock).toSorted((one, other) => one.at - other.at);
    if (take) this[kind] = this[kind].filter(({ at }) => at > this.clock);
    return due;
  }
}

const arrival: fc.Arbitrary<Arrival> = fc.record({
  at: fc.integer({ min: 0, max: 400 }),
  beforeMs: fc.constantFrom(0, 0, 0, 10, 60),
  afterMs: fc.constantFrom(0, 0, 0, 1, 30, 60, 200),
  asks: fc.constantFrom('nothing', 'at once', 'at once', 'in the check phase'),
  latencyMs: fc.oneof(
    fc.integer({ min: 0, max: MS - 1 }),
    fc.constantFrom(undefined, MS - 1, MS, MS + 1, 2 * MS, 10 * MS),
  ),
});

function played(arrivals: readonly Arrival[]): { asked: Asked[]; loop: VirtualLoop; left: number } {
  const loop = new VirtualLoop();
  const deadlines = new Deadlines(MS, loop);
  const asked: Asked[] = [];
  const ask = ({ latencyMs }: Arrival): void => {
    const at = loop.now();
    const one: Asked = { at, latencyMs, answered: false };
    asked.push(one);
    const deadline = deadlines.ask(() => (one.expiredAfterMs = loop.now() - at));
    if (latencyMs === undefined) return;
    loop.at(at + latencyMs, () => {
      one.answered = true;
      deadlines.answered(deadline);
    });
  };
  for (const each of arrivals) {
    loop.at(each.at, () => {
      loop.compute(each.beforeMs);
      if (each.asks === 'at once') ask(each);
      else if (each.asks === 'in the check phase') loop.turn(() => ask(each));
      loop.compute(each.afterMs);
    });
  }
  loop.run();
  const { first } = deadlines as unknown as { first: PendingDeadline | undefined };
  return { asked, loop, left: first === undefined ? 0 : 1 };
}

describe('Deadlines, however long callbacks keep the event loop busy', () => {
  const scenarios = fc.array(arrival, { minLength: 1, maxLength: 40 });

  it('expire no call whose answer is ready in time, every other one a few turns after its deadline, and keep none', () => {
    fc.assert(
      fc.property(scenarios, (arrivals) => {
        const { asked, loop, left } = played(arrivals);
        for (const { answered, expiredAfterMs, latencyMs = Infinity } of asked) {
          expect(expiredAfterMs !== undefined && latencyMs < MS).toBe(false);
          expect(answered || expiredAfterMs !== undefined).toBe(true);
          // The turns after another one's timer, the wait for its own, and the turns after that.
          expect(expiredAfterMs ?? 0).toBeLessThanOrEqual(MS + 1 + 6 * (loop.longestTurnMs + 1));
        }
        expect(left).toBe(0);
      }),
      histories(),
    );
  });
});

it('a call is not sent again after it has expired', () => {
  const loop = new VirtualLoop();
  const deadlines = new Deadlines(MS, loop);
  let again: boolean | undefined;
  loop.at(0, () => {
    const deadline = deadlines.ask(() => undefined);
    loop.at(2 * MS, () => (again = deadlines.sendAgain(deadline)));
  });
  loop.run();
  expect(again).toBe(false);
});
