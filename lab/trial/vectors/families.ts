import type { Rate } from '../../textbook/arithmetic.js';
import {
  type Textbook,
  TextbookCounter,
  TextbookFixedWindow,
  TextbookLeakyBucket,
  TextbookLog,
  TextbookTokenBucket,
} from '../../textbook/textbook.js';
import { History } from './history.js';
import type { AlgorithmName, Vector } from './vector.js';

const SECOND = 1_000_000;
const DAY = 86_400 * SECOND;
const YEAR = 365 * DAY;
const HUGE = Number.MAX_SAFE_INTEGER;
const EACH = 25;
const ALL = 200;

/** A whole number from `least` to `most`. */
type Random = (least: number, most: number) => number;

/** What the cases of an algorithm differ in. */
interface Subject {
  /** The numbers beside the limit, as a vector has them. */
  readonly numbers: Pick<Vector, 'window' | 'tokens' | 'microseconds'>;
  /** Microseconds of a window, or until the next token. */
  readonly period: number;
  readonly largest: number;
  readonly open: (limit: number) => Textbook;
}

const RATES: readonly Rate[] = [
  [1, SECOND],
  [3, SECOND],
  [10, SECOND],
  [7, 11_000],
  [1, 7 * SECOND],
  [1_000, SECOND],
  [1, 1],
  [1, DAY],
].map(([tokens, microseconds]) => ({ tokens: tokens!, microseconds: microseconds! }));
const LEASES = [SECOND, 1_500_000, 7 * SECOND, 60 * SECOND, DAY];
const WINDOWS = [1_000, ...LEASES];

type Kind = (random: Random) => Subject;

function rated(Book: new (limit: number, rate: Rate) => Textbook): Kind {
  return (random) => {
    const { tokens, microseconds } = RATES[random(0, RATES.length - 1)]!;
    return {
      numbers: { tokens: Number(tokens), microseconds: Number(microseconds) },
      period: Math.ceil(Number(microseconds) / Number(tokens)),
      largest: 50_000,
      open: (limit) => new Book(limit, { tokens, microseconds }),
    };
  };
}

function windowed(
  Book: new (limit: number, window: number) => Textbook,
  largest = 50_000,
  windows: readonly number[] = WINDOWS,
): Kind {
  return (random) => {
    const window = windows[random(0, windows.length - 1)]!;
    return { numbers: { window }, period: window, largest, open: (limit) => new Book(limit, window) };
  };
}

const KINDS: Readonly<Record<AlgorithmName, Kind>> = {
  'token-bucket': rated(TextbookTokenBucket),
  'leaky-bucket': rated(TextbookLeakyBucket),
  'fixed-window': windowed(TextbookFixedWindow),
  'sliding-window-log': windowed(TextbookLog, 300),
  // Limit x window has to be less than 2^52 even where the limit is doubled.
  'sliding-window-counter': windowed(TextbookCounter, 25_000),
  // Leases that nobody releases are a log whose window is the lease.
  concurrency: windowed(TextbookLog, 300, LEASES),
};

/** Asks a key in a way that breaks limiters. */
type Family = (history: History, random: Random, subject: Subject) => void;

const FAMILIES: Readonly<Record<string, Family>> = {
  'one by one, to one beyond the limit': (history) => {
    for (let i = 0; i <= history.whole; i++) history.ask();
    history.askUntilAllowed();
    history.askUntilWhole();
  },
  'costs above one': (history, random, { period }) => {
    for (let i = 0; i < 4; i++) {
      history.askUntilAllowed(random(2, history.whole + 1));
      history.now += random(0, period);
    }
    for (const cost of [history.whole + 1, HUGE, history.whole]) history.askUntilAllowed(cost);
  },
  'cost 0 charges nothing': (history, random) => {
    history.ask(0);
    history.ask(random(1, history.whole));
    history.ask(0);
    history.ask(0);
    history.askUntilAllowed(history.whole);
    history.askUntilAllowed(0);
    history.askUntilWhole();
  },
  'idle years': (history, random) => {
    for (let i = 0; i < 3; i++) {
      history.ask(history.whole);
      history.ask();
      history.now += random(1, 30) * YEAR + random(0, DAY);
      history.ask(history.whole + 1);
    }
    history.ask(history.whole);
    history.askUntilAllowed();
  },
  'the first and the last microsecond of a period': (history, random, { period }) => {
    const first = random(1, 3);
    for (const n of [first, first + 3, first + 6]) {
      for (const beside of [-1, 0, 1]) {
        history.now = n * period + beside;
        history.ask(random(1, history.whole));
      }
    }
    history.ask(history.whole);
  },
  'the clock steps back under a full limit': (history, random, { period }) => {
    history.now = random(2, 5) * period + random(0, period - 1);
    history.ask(history.whole);
    history.stepBack(random(1, 2 * period));
    history.ask(0);
    history.askUntilAllowed(random(1, history.whole));
    history.askUntilWhole();
  },
};

/** A bucket's textbook does not say what a change of its size does to its tokens. */
const CHANGES: Readonly<Record<string, Family>> = {
  'the limit is raised and lowered': (history, random, { period }) => {
    const limit = history.whole;
    history.ask(random(1, limit));
    for (const other of [limit + random(1, 5), random(1, limit), 2 * limit, limit]) {
      history.now += random(0, Math.floor(period / 3));
      history.changeLimit(other);
      history.ask(random(0, 2));
      history.askUntilAllowed(random(1, other));
    }
    history.askUntilWhole();
  },
};

const walk: Family = (history, random, { period }) => {
  for (let i = 0; i < 10; i++) {
    const pause = random(0, 4);
    if (pause > 1) history.now += pause === 4 ? period * random(1, 3) : random(0, period);
    history.ask(random(0, 3) === 0 ? random(0, history.whole + 1) : 1);
  }
  history.askUntilAllowed(history.whole);
};

/** The vectors of an algorithm: the same ones each time. */
export function makeVectors(algorithm: AlgorithmName): Vector[] {
  const random = randomOf(algorithm);
  const edges = Object.entries({ ...FAMILIES, ...('window' in KINDS[algorithm](random).numbers ? CHANGES : {}) });
  return Array.from({ length: ALL }, (_, i) => {
    const [name, family] = edges[Math.floor(i / EACH)] ?? ['a walk', walk];
    const subject = KINDS[algorithm](random);
    const isLarge = i % EACH > 20 && name !== edges[0]![0];
    const limit = isLarge ? random(Math.ceil(subject.largest / 3), subject.largest) : random(1, 12);
    const day = random(5_000, 30_000) * DAY;
    const start = day - (day % subject.period);
    const history = new History(start, subject.open, limit);
    // Some begin with a window, some within one.
    if (i % 2 === 1) history.now = random(0, subject.period - 1);
    family(history, random, subject);
    return { name: `${name}, ${i}`, start, ...subject.numbers, steps: history.steps };
  });
}

/** Pseudorandom numbers that a text names: mulberry32. */
function randomOf(text: string): Random {
  let state = Buffer.from(text).reduce((sum, byte) => Math.imul(sum, 31) + byte, 7);
  return (least, most) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    const part = ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    return Math.floor(least + part * (most - least + 1));
  };
}
