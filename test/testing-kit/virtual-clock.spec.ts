import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nestjs-floodgate/testing';

const START = '2026-01-01T00:00:00.000Z';

describe('a virtual clock', () => {
  it('starts at a fixed midnight, or where the test says', () => {
    expect(new VirtualClock().now.toISOString()).toBe(START);
    expect(new VirtualClock('2024-02-29T12:00:00+01:00').now.toISOString()).toBe('2024-02-29T11:00:00.000Z');
    expect(new VirtualClock(new Date(0)).nowMicroseconds).toBe(0);
  });

  it('never steps back when a task advances it further', () => {
    const clock = new VirtualClock(new Date(0));
    const seen: number[] = [];
    clock.timer(10, () => clock.advance('1h'));
    clock.timer(15, () => seen.push(clock.nowMicroseconds));
    clock.advance('20ms');
    expect(clock.nowMicroseconds).toBe(3_600_010_000);
    expect(seen).toEqual([15_000]);
  });

  it('advances by exact microseconds', () => {
    const clock = new VirtualClock(new Date(0));
    clock.advance('1m');
    clock.advance('0ms');
    expect(clock.nowMicroseconds).toBe(60_000_000);
    clock.advance(1.5);
    clock.advanceMicroseconds(1);
    expect([clock.nowMicroseconds, clock.nowMs]).toEqual([60_001_501, 60_001.501]);
    clock.advanceTo(new Date(90_000));
    clock.advance('24h');
    clock.stepBack('10s');
    expect(clock.nowMicroseconds).toBe(86_480_000_000);
  });

  it.each([-1, 0.0001, NaN, '60', '', '0 parsecs', undefined])('does not advance by %p', (given) => {
    const clock = new VirtualClock();
    expect(() => clock.advance(given as string)).toThrow(
      /^VirtualClock\.advance: takes milliseconds or text such as '500ms', '1m' or '24h', from 0 in whole microseconds, got /,
    );
    expect(clock.now.toISOString()).toBe(START);
  });

  it('never moves back unless it is asked', () => {
    expect(() => new VirtualClock().advanceTo('2025-12-31T23:59:59Z')).toThrow(
      "VirtualClock.advanceTo: 2025-12-31T23:59:59.000Z is before the clock's 2026-01-01T00:00:00.000Z; stepBack('1s')",
    );
  });

  it('runs tasks in the order of their instants, each at its own', () => {
    const clock = new VirtualClock(new Date(0));
    const ran: [string, number][] = [];
    const task = (name: string) => (): void => void ran.push([name, clock.nowMicroseconds]);
    clock.timer(20, task('third'));
    clock.timer(0.001, task('first'));
    clock.timer(20, task('fourth'));
    const cancel = clock.timer(3, task('cancelled'));
    clock.timer(10, () => clock.timer(5.5, task('second')));
    cancel();
    clock.advance(19.999);
    expect(ran).toEqual([
      ['first', 1],
      ['second', 15_500],
    ]);
    clock.advanceMicroseconds(1);
    expect(ran.slice(2)).toEqual([
      ['third', 20_000],
      ['fourth', 20_000],
    ]);
    expect(clock.waiting).toBe(0);
  });

  it('keeps tasks waiting as long as before when it steps back', () => {
    const clock = new VirtualClock(new Date(100_000));
    let ran = 0;
    clock.timer(50, () => void ran++);
    clock.stepBack('1m');
    clock.advance(49.999);
    expect(ran).toBe(0);
    clock.advanceMicroseconds(1);
    expect(ran).toBe(1);
  });

  it('says when enough tasks wait, and when they do not', async () => {
    const clock = new VirtualClock();
    await expect(clock.untilWaiting(1, { within: 5 })).rejects.toThrow('untilWaiting: 0 of 1 wait after 5 ms');
    const both = clock.untilWaiting(2);
    clock.timer(1, () => undefined);
    clock.timer(2, () => undefined);
    await both;
    await clock.untilWaiting();
  });
});
