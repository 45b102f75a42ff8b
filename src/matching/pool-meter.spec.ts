import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { PoolMeter } from './pool-meter.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

it('measures the busy share of the workers, for the last seconds and in total', () => {
  const meter = new PoolMeter(4);
  meter.busy(4);
  jest.advanceTimersByTime(10_000);
  meter.busy(1);
  jest.advanceTimersByTime(10_000);
  expect(meter.read().recent.utilisation).toBeCloseTo(0.25);
  expect(meter.read().total.busyMs).toBeCloseTo(50_000);
  meter.busy(0);
  jest.advanceTimersByTime(60_000);
  expect(meter.read().recent.utilisation).toBe(0);
});

it('forgets old waits, but not in the total', () => {
  const meter = new PoolMeter(1);
  for (let i = 0; i < 100; i++) meter.began(1000);
  jest.advanceTimersByTime(4000);
  meter.began(5);
  expect(meter.read().recent.waitMs.max).toBeCloseTo(5, 1);
  expect(meter.read().total.waitMs.max).toBeCloseTo(1000, -1);
  expect(meter.read().total.waitMs.mean).toBeCloseTo(100_005 / 101, -1);
  jest.advanceTimersByTime(4000);
  expect(meter.read().recent.waitMs).toEqual({ mean: 0, p99: 0, max: 0 });
});

it('remembers the last two seconds at any time', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(5000), { maxLength: 20 }), fc.nat(1999), (pauses, agoMs) => {
      const meter = new PoolMeter(1);
      for (const pause of pauses) {
        jest.advanceTimersByTime(pause);
        meter.read();
      }
      meter.began(7);
      jest.advanceTimersByTime(agoMs);
      expect(meter.read().recent.waitMs.p99).toBeCloseTo(7, 1);
    }),
  );
});

it('never measures more than all workers, and exactly their busy time, for any history', () => {
  const step = fc.record({ pause: fc.nat(6000), busy: fc.nat(3) });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), (steps) => {
      const meter = new PoolMeter(3);
      let busyMs = 0;
      for (const { pause, busy } of steps) {
        meter.busy(busy);
        jest.advanceTimersByTime(pause);
        busyMs += busy * pause;
        const { recent, total } = meter.read();
        expect(total.busyMs).toBeCloseTo(busyMs, 3);
        expect(recent.utilisation).toBeGreaterThanOrEqual(0);
        expect(recent.utilisation).toBeLessThanOrEqual(1);
        // Nothing older than 4 s is recent.
        expect(pause < 4000 || Math.abs(recent.utilisation - busy / 3) < 1e-9).toBe(true);
      }
    }),
  );
});
