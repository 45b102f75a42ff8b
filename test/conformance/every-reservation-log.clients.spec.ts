import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { LoggedReservation, ReservationLog } from '../../libs/floodgate/src/stores/reservation-log.js';
import type { ChargeSettlement } from '../../libs/floodgate/src/stores/store.js';
import { VirtualClock } from '../../libs/floodgate/src/testing/virtual-clock.js';
import { expectHolds } from '../support/expect-same.js';
import { histories } from '../support/property-runs.js';
import { EVERY_LOG, settlement } from './reservation-logs.js';

/** The parts of a log in Redis. */
const KEYS = 4;

let prefix: string;
beforeEach(() => {
  prefix = `t${randomUUID().slice(0, 8)}`;
});

/** What happens to a log: a process adds a reservation, takes one out or takes what is due, or time passes. */
type Step =
  | { readonly add: number; readonly process: number }
  | { readonly claim: number }
  | { readonly take: number }
  | { readonly passMs: number };

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ add: fc.nat({ max: 20 }), process: fc.nat({ max: 4 }) }) },
    { weight: 3, arbitrary: fc.record({ claim: fc.nat({ max: 9 }) }) },
    { weight: 2, arbitrary: fc.record({ take: fc.nat({ max: 4 }) }) },
    { weight: 3, arbitrary: fc.record({ passMs: fc.nat({ max: 12 }) }) },
  ),
  { minLength: 5, maxLength: 40, size: '+1' },
);

describe.each(EVERY_LOG)('the reservation log $where', ({ use }) => {
  const open = use();
  const clock = new VirtualClock();

  /** Adds a reservation, which is due so many milliseconds from now. */
  function adding(
    log: ReservationLog,
    ms: number,
  ): { readonly made: ChargeSettlement; readonly logged: LoggedReservation } {
    const now = clock.nowMicroseconds;
    const made = settlement(prefix, now);
    return { made, logged: log.add([made], now + ms * 1_000) };
  }

  /** Takes what is due as the process does that sweeps, or whose timer runs. */
  async function takenBy(log: ReservationLog): Promise<readonly ChargeSettlement[]> {
    const { taken, malformed } = await log.takeDue();
    expect([malformed, taken.filter(({ length }) => length !== 1)]).toEqual([0, []]);
    return taken.flat();
  }

  it('gives each of a hundred to one of those that ask at once, and none that is not due', async () => {
    const logs = open(clock, prefix);
    const [log, ...others] = logs;
    const due = Array.from({ length: 100 }, () => adding(log!, 0));
    const later = Array.from({ length: 20 }, () => adding(log!, 60_000));
    await Promise.all([...due, ...later].map(({ logged }) => logged.written));
    const claims = due.slice(0, 30).map(async ({ logged }) => logged.claim());
    const sweeps = Array.from({ length: 12 }, (_, i) => takenBy(others[i % others.length]!));
    const owned = (await Promise.all(claims)).filter((claim) => claim === 'own').length;
    const taken = (await Promise.all(sweeps)).flat();
    taken.push(...(await takenBy(log!)));
    expect(owned + taken.length).toBe(100);
    expect(new Set(taken.map(({ receipt }) => receipt.key)).size).toBe(taken.length);
    expect(await later[0]!.logged.claim()).toBe('own');
    clock.advance('1m');
    expect(await takenBy(log!)).toHaveLength(19);
  });

  it('has room for so many, and a reservation beyond them belongs to its process', async () => {
    const [log] = open(clock, prefix, 2);
    const all = Array.from({ length: 60 }, () => adding(log!, 60_000));
    const written = await Promise.allSettled(all.map(({ logged }) => logged.written));
    const refused = all.filter((_, i) => written[i]!.status === 'rejected');
    expect(refused.length).toBeGreaterThanOrEqual(60 - 2 * KEYS);
    expect(refused.length).toBeLessThanOrEqual(60 - 2);
    expect(await Promise.all(refused.map(async ({ logged }) => logged.claim()))).toEqual(refused.map(() => 'own'));
    clock.advance('1m');
    expect(await takenBy(log!)).toHaveLength(60 - refused.length);
  });

  it('gives each reservation or lets its process take it out, exactly once, whatever happens in whatever order', async () => {
    const property = fc.asyncProperty(steps, async (history) => {
      prefix = `t${randomUUID().slice(0, 8)}`;
      const logs = open(clock, prefix);
      const list: { readonly key: string; dueAt: number; logged: LoggedReservation; ended: string }[] = [];
      const take = async (log: ReservationLog): Promise<void> => {
        for (const { receipt } of await takenBy(log)) {
          const one = list.find(({ key }) => key === receipt.key)!;
          expectHolds(one.ended === '' && one.dueAt <= clock.nowMicroseconds, () => ({ one, history }));
          one.ended = 'given';
        }
      };
      for (const step of history) {
        if ('passMs' in step) clock.advance(step.passMs);
        else if ('take' in step) await take(logs[step.take % logs.length]!);
        else if ('add' in step) {
          const { made, logged } = adding(logs[step.process % logs.length]!, step.add);
          await logged.written;
          list.push({ key: made.receipt.key, dueAt: clock.nowMicroseconds + step.add * 1_000, logged, ended: '' });
        } else {
          const one = list.at(-1 - step.claim);
          if (one === undefined) continue;
          const claim = await one.logged.claim();
          // A process may let a reservation expire that it claims too late: then it is given.
          const isOpen = one.ended === '' && one.dueAt > clock.nowMicroseconds;
          expectHolds(claim === (isOpen ? 'own' : 'taken') || (claim === 'own' && one.ended === ''), () => ({
            one,
            claim,
          }));
          if (claim === 'own') one.ended = 'own';
        }
      }
      clock.advance('1m');
      await take(logs[0]!);
      expectHolds(
        list.every(({ ended }) => ended !== ''),
        () => ({ list, history }),
      );
    });
    await fc.assert(property, histories());
  });
});
