import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ShedLevel } from './shed-level.js';

const CLASSES = ['background', 'normal'];

/** How many of `requests` requests of a class are rejected. */
function rejectedOf(level: ShedLevel, name: string, requests: number): number {
  let rejected = 0;
  for (let i = 0; i < requests; i++) if (level.rejects(name)) rejected++;
  return rejected;
}

describe('a level', () => {
  it('takes a part of the lowest class first, then all of it, and only then the next class', () => {
    const level = new ShedLevel(CLASSES);
    const seen: [background: number, normal: number][] = [];
    for (let i = 0; i < 40; i++) {
      level.shedMore(1);
      seen.push([rejectedOf(level, 'background', 1000), rejectedOf(level, 'normal', 1000)]);
    }
    expect(seen[0]).toEqual([300, 0]);
    expect(seen.filter(([background, normal]) => normal > 0 && background < 1000)).toEqual([]);
    expect(seen.at(-1)).toEqual([1000, 1000]);
    expect(level.value).toBe(1);
  });

  it('passes over a class that brings no requests', () => {
    const level = new ShedLevel(CLASSES);
    level.shedMore(2);
    rejectedOf(level, 'normal', 10);
    level.shedMore(2);
    expect(rejectedOf(level, 'normal', 1000)).toBe(750);
  });

  it('goes back the way it came, and ends where it began', () => {
    const level = new ShedLevel(CLASSES);
    for (let i = 0; i < 40; i++) level.shedMore(1);
    let last = level.value;
    for (let i = 0; i < 100 && level.value > 0; i++) {
      level.shedLess(0.7);
      expect(level.value).toBeLessThan(last);
      last = level.value;
    }
    expect(level.value).toBe(0);
    expect(rejectedOf(level, 'background', 100)).toBe(0);
  });

  it('spreads rejections evenly: in any run of requests, their number is that of the part, to less than one', () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 1, max: 3, noNaN: true }), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 0, max: 500 }),
        fc.integer({ min: 1, max: 500 }),
        (ratios, before, length) => {
          const level = new ShedLevel(['only']);
          for (const ratio of ratios) level.shedMore(ratio);
          rejectedOf(level, 'only', before);
          const rejected = rejectedOf(level, 'only', length);
          expect(Math.abs(rejected - length * level.value)).toBeLessThan(1 + 1e-6);
        },
      ),
    );
  });

  it('stays from 0 to 1, and moves the way of its step, whatever comes', () => {
    const step = fc.record({
      more: fc.boolean(),
      ratio: fc.double({ min: 0, max: 10, noNaN: true }),
      seen: fc.subarray(CLASSES),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const level = new ShedLevel(CLASSES);
        for (const { more, ratio, seen } of steps) {
          for (const name of seen) level.rejects(name);
          const before = level.value;
          if (more) level.shedMore(1 + ratio);
          else level.shedLess(Math.min(ratio, 0.8));
          expect(level.value).toBeGreaterThanOrEqual(0);
          expect(level.value).toBeLessThanOrEqual(1);
          expect((level.value - before) * (more ? 1 : -1)).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});
