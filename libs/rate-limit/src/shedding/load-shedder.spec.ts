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

  it('sheds nothing below it, however near', () => {
    const setup = new Setup(thresholds);
    const [[key, value]] = Object.entries(over) as [[keyof Measurement, number]];
    const at = Object.values(thresholds)[0] as number;
    setup.now = { ...CALM, [key]: at - (value - at) * 0.01 };
    setup.pass(60_000);
    expect(setup.changes).toEqual([]);
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

it('sheds while check says so', () => {
  let over = false;
  const setup = new Setup({ check: () => over });
  setup.pass(1000);
  expect(setup.shedder.active).toBe(false);
  over = true;
  setup.pass(1000);
  expect(setup.shedder.stats()).toMatchObject({ active: true, threshold: 'check' });
  over = false;
  setup.pass(20_000);
  expect(setup.shedder.active).toBe(false);
});

it('sheds nothing for one long turn of the event loop, nor for a process that was stopped for an hour', () => {
  const setup = new Setup({ eventLoopDelayMs: 100, eventLoopUtilization: 0.9 });
  for (const ms of [600, 5000, 3_600_000]) {
    setup.block(ms);
    setup.pass(2000);
  }
  expect(setup.changes).toEqual([]);
});

it('rejects by class, and counts', () => {
  const setup = new Setup({ eventLoopDelayMs: 100 });
  expect(setup.shedder.rejects('background')).toBe(false);
  setup.now = { ...CALM, delayMs: 1000 };
  setup.pass(200);
  const answers = Array.from({ length: 8 }, () => setup.shedder.rejects('background'));
  expect(answers.filter((rejected) => rejected)).toHaveLength(6);
  expect(setup.shedder.rejects('critical')).toBe(false);
  expect(setup.shedder.stats().rejected).toEqual([
    { priority: 'background', requests: 6 },
    { priority: 'normal', requests: 0 },
  ]);
});

it('ends with stop, and measures nothing any more', () => {
  const setup = new Setup({ eventLoopDelayMs: 100 });
  setup.now = { ...CALM, delayMs: 1000 };
  setup.pass(2000);
  setup.shedder.stop();
  expect(setup.measuring).toBe(false);
  expect(setup.shedder.active).toBe(false);
  expect(setup.shedder.rejects('background')).toBe(false);
});

/**
 * A process that gets so many times what it can do of each class. Its requests wait in the order in which they come, and the guard
 * sees each one when its turn comes. A rejected one costs a fiftieth.
 *
 * @param costly how many times as much as the others a request of a class takes: there are fewer of them
 */
function overloaded(
  setup: Setup,
  load: Readonly<Record<string, number>>,
  costly: Readonly<Record<string, number>> = {},
): () => void {
  const waiting: { readonly name: string; readonly cost: number }[] = [];
  const [requests, everyMs, rejected] = [20, 50, 0.02];
  let owed = 0;
  return () => {
    for (let i = 0; i < requests; i++) {
      owed++;
      for (const [name, part] of Object.entries(load)) {
        const times = costly[name] ?? 1;
        if (owed % times === 0) waiting.push({ name, cost: (part * everyMs * times) / requests });
      }
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

describe.each([1.2, 2, 4, 16])('a process that gets %p times what it can do', (times) => {
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

it.each([
  [1.05, 'background'],
  [1.5, 'background'],
  [4, 'background'],
  [1.05, 'normal'],
  [4, 'normal'],
])('does not flap at %p times where a request of the class %s takes ten times as much', (times, name) => {
  const load = { critical: 0.1 * times, normal: 0.3 * times, background: 0.6 * times };
  const setup = new Setup({ eventLoopUtilization: 0.97, eventLoopDelayMs: 100 });
  const turn = overloaded(setup, load, { [name]: 10 });
  setup.pass(10_000, turn);
  const { length } = setup.changes;
  setup.pass(60_000, turn);
  expect(setup.changes.length - length).toBeLessThan(3);
});

/**
 * The event loop of a process that gets so many times what it can do: each turn serves the requests that have come during the one before,
 * and the timer runs between two turns. A served request takes 4 ms, a rejected one 0.15 ms, and one in ten is critical.
 *
 * @param atMost how many requests a turn takes. The others wait in the kernel, for a connection to be accepted, and nothing in the process tells of them
 * @returns how long each critical request waited, by when it came
 */
function waitsOf(times: number, seconds: number, atMost: number): { readonly at: number; readonly waited: number }[] {
  let [now, measuredAt, idleMs, inTurn] = [0, 0, 0, false];
  let run = (): void => {};
  let turnMs: number | undefined;
  const meter = {
    start: () => {},
    stop: () => {},
    measure: (): Measurement => {
      const elapsedMs = now - measuredAt;
      const utilization = elapsedMs === 0 ? 0 : 1 - idleMs / elapsedMs;
      [measuredAt, idleMs] = [now, 0];
      // Node looks at the delay between two turns.
      return { elapsedMs, utilization, delayMs: inTurn ? undefined : turnMs, heapUsed: 0 };
    },
  };
  const thresholds = { ...NONE, eventLoopUtilization: 0.8, eventLoopDelayMs: 50 };
  const shedder = new LoadShedder(
    { thresholds, classes: ['background', 'normal'], windowMs: 500 },
    () => {},
    meter,
    (task) => {
      run = task;
      return () => {};
    },
    () => now,
  );
  shedder.start();
  const waits: { at: number; waited: number }[] = [];
  let [arrived, timerAt] = [0, 50];
  while (now < seconds * 1000) {
    const ready = Math.min(atMost, Math.floor((now * times) / 4) + 1 - arrived);
    if (ready === 0) {
      const next = (arrived * 4) / times;
      idleMs += next - now;
      now = next;
    }
    const start = now;
    inTurn = true;
    for (let i = 0; i < ready; i++, arrived++) {
      const kind = arrived % 10 === 0 ? 'critical' : arrived % 10 < 4 ? 'normal' : 'background';
      now += shedder.active && shedder.rejects(kind) ? 0.15 : 4;
      if (kind === 'critical') waits.push({ at: (arrived * 4) / times, waited: now - (arrived * 4) / times });
    }
    [inTurn, turnMs] = [false, now - start];
    if (now < timerAt) continue;
    run();
    timerAt = now + 50;
  }
  return waits;
}

it.each([
  [2, Infinity, 500],
  [4, Infinity, 800],
  [2, 10, 800],
  [4, 10, 1000],
])('meets an overload of %p times, %p requests in a turn: critical ones wait for %p ms', (times, atMost, longest) => {
  const waits = waitsOf(times, 10, atMost);
  expect(waits.length).toBeGreaterThan(400);
  expect(Math.max(...waits.map(({ waited }) => waited))).toBeLessThan(longest);
  expect(Math.max(...waits.flatMap(({ at, waited }) => (at > 2000 ? waited : [])))).toBeLessThan(50);
});

it('shows rounded figures, and 0 or 1 as the level only where nothing or all of the classes is shed', () => {
  const levels = new Set<number>();
  for (const count of [1, 3, 60]) {
    const classes = Array.from({ length: count }, (_, i) => `class-${i}`);
    const setup = new Setup({ eventLoopDelayMs: 100 }, classes);
    const untrue: SheddingStats[] = [];
    const look = (): void => {
      const stats = setup.shedder.stats();
      const { active, level, eventLoopDelayMs, eventLoopUtilization } = stats;
      const passing = classes.filter((name) => !setup.shedder.rejects(name));
      const isRounded = [level, eventLoopDelayMs, eventLoopUtilization].every((value) => +value.toFixed(3) === value);
      if (!isRounded || level > 0 !== active || (level === 1 && passing.length > 0)) untrue.push(stats);
      levels.add(level);
    };
    setup.now = { delayMs: 400 / 3, utilization: 2 / 3, heapUsed: 1000 };
    setup.pass(5_000 * count, look);
    expect(setup.shedder.stats().level).toBe(1);
    setup.now = { delayMs: 200 / 3, utilization: 1 / 3, heapUsed: 1000 };
    for (let i = 0; i < 2000 && setup.shedder.active; i++) setup.pass(500, look);
    expect(setup.shedder.stats().level).toBe(0);
    expect(untrue).toEqual([]);
  }
  expect(levels).toContain(0.999);
});
