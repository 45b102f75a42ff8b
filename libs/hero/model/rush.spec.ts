import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { assert, constantFrom, double, integer, property, record } from 'fast-check';
import { MatchingUnavailableError } from '../../../src/matching/matching.js';
import { WorkerPool } from '../../../src/matching/worker-pool.js';
import { capacityOf, cityOf } from '../../../surge/city.js';
import { histories } from '../../../test/support/property-runs.js';
import { CITY, type City } from './city.js';
import { type Outcome, type Request, rush } from './rush.js';

const count = (requests: readonly Request[], outcome: Outcome): number =>
  requests.filter((request) => request.outcome === outcome).length;

/** Cities of the surge, with demands above what matching can serve, and queues from the shipped bound to none. */
const anyCity = record({
  scale: integer({ min: 1, max: 6 }),
  times: double({ min: 2, max: 5, noNaN: true }),
  rushMs: integer({ min: 12_000, max: 20_000 }),
  isBounded: constantFrom(true, false),
}).map(({ scale, times, rushMs, isBounded }): City => {
  const { workers, serviceMs, queue, limit } = cityOf(scale);
  return {
    ...CITY,
    workers,
    serviceMs,
    limit,
    queue: isBounded ? queue : Infinity,
    demand: times * capacityOf({ workers, serviceMs, queue, limit }),
    rushMs,
  };
});

describe('the rush', () => {
  it('is that of a quarter of the city of the surge, but for the bound of the queue', () => {
    const { workers, serviceMs, limit } = cityOf(4);
    expect(CITY).toMatchObject({ workers, serviceMs, limit });
    expect(CITY.demand).toBeCloseTo(2.5 * capacityOf(cityOf(4)), 10);
  });

  it('is the same every time', () => {
    for (const isLimited of [false, true]) expect(rush(CITY, isLimited)).toEqual(rush(CITY, isLimited));
    const [without, within] = [rush(CITY, false), rush(CITY, true)];
    expect(without.map(({ sentAt }) => sentAt)).toEqual(within.map(({ sentAt }) => sentAt));
    expect([count(without, 'served'), count(without, 'refused'), count(without, 'failed')]).toEqual([186, 0, 946]);
    expect([count(within, 'served'), count(within, 'refused'), count(within, 'failed')]).toEqual([301, 831, 0]);
  });

  it('answers each request once, in the order of sending, and keeps no rider beyond their patience', () => {
    const law = property(anyCity, constantFrom(false, true), (city, isLimited) => {
      const requests = rush(city, isLimited);
      expect(requests).toHaveLength(Math.round((city.demand * city.rushMs) / 1000));
      const isRight = ({ sentAt, endedAt }: Request, i: number): boolean =>
        sentAt >= (requests[i - 1]?.sentAt ?? 0) &&
        sentAt < city.rushMs &&
        endedAt > sentAt &&
        endedAt <= sentAt + city.patienceMs;
      expect(requests.filter((request, i) => !isRight(request, i))).toEqual([]);
      const all = (['served', 'refused', 'failed'] as const).map((outcome) => count(requests, outcome));
      expect(all.reduce((sum, one) => sum + one)).toBe(requests.length);
    });
    assert(law, histories(0.2));
  });

  it('serves more riders with the limit, fails none of them, and refuses in milliseconds', () => {
    const law = property(anyCity, (city) => {
      const [without, within] = [rush(city, false), rush(city, true)];
      expect(count(within, 'failed')).toBe(0);
      expect(count(without, 'refused')).toBe(0);
      expect(count(within, 'served')).toBeGreaterThan(count(without, 'served'));
      const longest = (isRefused: boolean): number =>
        within.reduce(
          (most, { sentAt, endedAt, outcome }) =>
            (outcome === 'refused') === isRefused ? Math.max(most, endedAt - sentAt) : most,
          0,
        );
      expect(longest(true)).toBeLessThan(10);
      expect(longest(false)).toBeLessThan(3 * city.serviceMs);
    });
    assert(law, histories(0.2));
  });

  it('serves fewer riders with the limit in a short rush, which the queue hides', () => {
    const short = { ...CITY, rushMs: 7_000 };
    expect(count(rush(short, true), 'served')).toBeLessThan(count(rush(short, false), 'served'));
    const longer = { ...CITY, rushMs: 8_000 };
    expect(count(rush(longer, true), 'served')).toBeGreaterThan(count(rush(longer, false), 'served'));
  });

  it('admits no more than the bucket allows in any interval', () => {
    const admitted = rush(CITY, true).filter(({ outcome }) => outcome !== 'refused');
    const { capacity, refill } = CITY.limit;
    // The bucket's clock is whole microseconds.
    const most = (first: Request, last: Request): number =>
      capacity + (refill * (last.sentAt - first.sentAt + 0.001)) / 1000;
    const over = admitted.flatMap((first, i) => admitted.slice(i).filter((last, more) => more + 1 > most(first, last)));
    expect(over).toEqual([]);
  });

  it('serves and fails the same riders with the bound of the service, and some of them know sooner', () => {
    const [free, bounded] = [rush(CITY, false), rush({ ...CITY, queue: cityOf(4).queue }, false)];
    expect(bounded.map(({ outcome }) => outcome)).toEqual(free.map(({ outcome }) => outcome));
    const sooner = bounded.filter(({ endedAt }, i) => endedAt < free[i]!.endedAt);
    expect(sooner.length).toBeGreaterThan(100);
    expect(sooner.every(({ outcome }) => outcome === 'failed')).toBe(true);
  });
});

describe('matching', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  /** The same riders before the real pool, in fake time, which is whole milliseconds. */
  async function real(city: City, requests: readonly Request[]): Promise<readonly Request[]> {
    const pool = new WorkerPool({ ...city, patienceMs: 30_000, newestFirst: false });
    const startedAt = Date.now();
    const ask = async (sentAt: number): Promise<Request> => {
      const isFull = await pool
        .run(() => new Promise<void>((resolve) => setTimeout(resolve, city.serviceMs)))
        .then(
          () => false,
          (error: unknown) => error instanceof MatchingUnavailableError,
        );
      const endedAt = Date.now() - startedAt + city.roundTripMs;
      return { sentAt, endedAt, outcome: isFull ? 'failed' : 'served' };
    };
    const open: Promise<Request>[] = [];
    for (const { sentAt } of requests) {
      await jest.advanceTimersByTimeAsync(Math.max(0, Math.round(sentAt) - (Date.now() - startedAt)));
      open.push(ask(sentAt));
    }
    await jest.runAllTimersAsync();
    return Promise.all(open);
  }

  it.each([
    ['without a bound', CITY, false],
    ["with the service's bound", { ...CITY, queue: cityOf(4).queue }, true],
  ])('answers when the real pool does, %s', async (_, city, fails) => {
    // Riders who never leave see when the work is done.
    const patient = { ...city, patienceMs: 60_000 };
    const requests = rush(patient, false).slice(0, 800);
    const answers = await real({ ...city, queue: Math.min(city.queue, 1e6) }, requests);
    const outcomes = (list: readonly Request[]): number[] => [count(list, 'served'), count(list, 'failed')];
    const [served, failed] = outcomes(requests);
    // A rounded instant may find a full queue, or just not.
    expect(Math.abs(outcomes(answers)[0]! - served!)).toBeLessThanOrEqual(2);
    expect(failed! > 100).toBe(fails);
    const times = (list: readonly Request[]): number[] =>
      list.flatMap(({ outcome, endedAt }) => (outcome === 'served' ? [endedAt] : [])).toSorted((a, b) => a - b);
    const [own, theirs] = [times(requests), times(answers)];
    for (let i = 0; i < Math.min(own.length, theirs.length); i++) {
      expect(Math.abs(own[i]! - theirs[i]!)).toBeLessThanOrEqual(2);
    }
  });
});
