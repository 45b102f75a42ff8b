import { describe, expect, it } from '@jest/globals';
import { LoadShedder, type SheddingStats, type ShedSettings } from './load-shedder.js';
import type { Measurement } from './measurement.js';

const NONE = { eventLoopDelayMs: undefined, eventLoopUtilization: undefined, heapUsed: undefined, check: undefined };
const CALM = { delayMs: 0, utilization: 0.1, heapUsed: 1000 };

/** A shedder on a process and a timer that the test moves. */
class Setup {
  /** What the process is like. */
  now: Omit<Measurement, 'elapsedMs'> = CALM;
  readonly changes: SheddingStats[] = [];
  readonly shedder: LoadShedder;
  private run: (() => void) | undefined;
  private everyMs = 0;
  private elapsedMs = 0;
  private at = 0;
  measuring = false;

  constructor(thresholds: Partial<ShedSettings['thresholds']>, classes: readonly string[] = ['background', 'normal']) {
    const meter = {
      start: () => void (this.measuring = true),
      measure: () => ({ ...this.now, elapsedMs: this.elapsedMs }),
      stop: () => void (this.measuring = false),
    };
    this.shedder = new LoadShedder(
      { thresholds: { ...NONE, ...thresholds }, classes, windowMs: 500 },
      (stats) => void this.changes.push(stats),
      meter,
      (run, everyMs) => {
        [this.run, this.everyMs] = [run, everyMs];
        return () => void (this.run = undefined);
      },
      () => this.at,
    );
    this.shedder.start();
  }

  /** Lets time pass; the process stays as it is. */
  pass(ms: number, each: () => void = () => {}): void {
    for (let at = this.everyMs; at <= ms; at += this.everyMs) {
      each();
      this.at += this.everyMs;
      this.elapsedMs = this.everyMs;
      this.run?.();
    }
  }

  /** One turn of the event loop that takes so long: the timer comes late. */
  block(ms: number): void {
    this.at += ms;
    this.elapsedMs = ms;
    this.now = { ...this.now, delayMs: ms, utilization: 1 };
    this.run?.();
    this.now = CALM;
  }
}

const OVER: [string, Partial<ShedSettings['thresholds']>, Partial<Measurement>][] = [
  ['eventLoopDelay', { eventLoopDelayMs: 100 }, { delayMs: 101 }],
  ['eventLoopUtilization', { eventLoopUtilization: 0.9 }, { utilization: 0.95 }],
  ['heapUsed', { heapUsed: 5000 }, { heapUsed: 6000 }],
];

describe.each(OVER)('%s', (name, thresholds, over) => {
  it('sheds once a whole window is over it, and says why', () => {
    const setup = new Setup(thresholds);
    setup.pass(10_000);
    expect(setup.shedder.active).toBe(false);
    setup.now = { ...CALM, ...over };
    setup.pass(200);
    expect(setup.shedder.active).toBe(false);
    setup.pass(1000);
    expect(setup.shedder.active).toBe(true);
    expect(setup.shedder.stats()).toMatchObject({ active: true, threshold: name });
    expect(setup.changes).toHaveLength(1);
  });

  it('holds its level in the band below the threshold, and lets go under it', () => {
    const setup = new Setup(thresholds);
    setup.now = { ...CALM, ...over };
    setup.pass(1500);
    const { level } = setup.shedder.stats();
    const [key] = Object.keys(over) as [keyof Measurement];
    const at = Object.values(thresholds)[0] as number;
    setup.now = { ...CALM, [key]: at * 0.9 };
    setup.pass(60_000);
    expect(setup.shedder.stats().level).toBe(level);
    setup.now = { ...CALM, [key]: at * 0.7 };
    setup.pass(60_000);
    expect(setup.shedder.stats()).toMatchObject({ active: false, level: 0, threshold: undefined });
    expect(setup.changes.map(({ active }) => active)).toEqual([true, false]);
  });
});

it('sheds nothing for one long turn of the event loop, nor for a process that was stopped for an hour', () => {
  const setup = new Setup({ eventLoopDelayMs: 100, eventLoopUtilization: 0.9 });
  for (const ms of [600, 5000, 3_600_000]) {
    setup.block(ms);
    setup.pass(2000);
  }
  expect(setup.changes).toEqual([]);
});

/**
 * A process that gets so many times what it can do of each class. Its requests wait in the order in which they come, and the guard
 * sees each one when its turn comes. A rejected one costs a fiftieth.
 */
function overloaded(setup: Setup, load: Readonly<Record<string, number>>): () => void {
  const waiting: { readonly name: string; readonly cost: number }[] = [];
  const [requests, everyMs, rejected] = [20, 50, 0.02];
  return () => {
    for (let i = 0; i < requests; i++) {
      for (const [name, part] of Object.entries(load)) waiting.push({ name, cost: (part * everyMs) / requests });
    }
    let leftMs = everyMs;
    while (leftMs > 0 && waiting.length > 0) {
      const { name, cost } = waiting.shift()!;
      leftMs -= setup.shedder.rejects(name) ? cost * rejected : cost;
    }
    const waits = waiting.length / (requests * Object.keys(load).length);
    setup.now = { delayMs: waits * everyMs, utilization: 1 - Math.max(0, leftMs) / everyMs, heapUsed: 0 };
  };
}

describe.each([1.2, 16])('a process that gets %p times what it can do', (times) => {
  const load = { critical: 0.3, normal: (times - 0.3) * 0.4, background: (times - 0.3) * 0.6 };

  it('keeps up soon, and stays at a level without flapping', () => {
    const setup = new Setup({ eventLoopUtilization: 0.9, eventLoopDelayMs: 50 });
    const turn = overloaded(setup, load);
    setup.pass(8000, turn);
    const levels = new Set<number>();
    setup.pass(60_000, () => {
      turn();
      levels.add(setup.shedder.stats().level);
      expect(setup.now.delayMs).toBeLessThan(50);
    });
    expect(setup.changes).toHaveLength(1);
    expect(setup.shedder.stats().eventLoopUtilization).toBeGreaterThan(0.6);
    expect(Math.max(...levels) - Math.min(...levels)).toBeLessThan(0.15);
  });

  it('passes all requests again within 4 seconds after the load has gone', () => {
    const setup = new Setup({ eventLoopUtilization: 0.9, eventLoopDelayMs: 50 });
    setup.pass(20_000, overloaded(setup, load));
    setup.now = CALM;
    setup.pass(4_000);
    expect(setup.shedder.active).toBe(false);
  });
});
