import { MILLISECOND, MINUTE, pass, reject, repeat, SECOND, type Tables } from '../instants.js';

const threeASecond = { algorithm: 'fixed-window', limit: 3, window: 1_000 } as const;
const DAY = 1_440 * MINUTE;

/** The instants of a fixed window. */
export const FIXED_WINDOW: Tables = {
  'admits its limit in each window, at any time in it': {
    policy: threeASecond,
    steps: [
      [0, 1, pass(2, SECOND)],
      [0, 1, pass(1, SECOND)],
      [400_000, 1, pass(0, 600_000)],
      [400_000, 1, reject(0, 600_000, 600_000)],
      [999_999, 1, reject(0, 1, 1)],
      [1_000_000, 1, pass(2, SECOND)],
    ],
  },
  'admits twice its limit within 2 microseconds around the edge of a window (its known weakness)': {
    policy: threeASecond,
    steps: [
      ...repeat(3, (i) => [999_999, 1, pass(2 - i, 1)]),
      [999_999, 1, reject(0, 1, 1)],
      ...repeat(3, (i) => [1_000_000, 1, pass(2 - i, SECOND)]),
      [1_000_000, 1, reject(0, SECOND, SECOND)],
    ],
  },
  'aligns its windows to the clock, not to the first request': {
    policy: threeASecond,
    steps: [
      [700_000, 3, pass(0, 300_000)],
      [1_000_000, 3, pass(0, SECOND)],
    ],
  },
  'admits the whole limit at once, and never more': {
    policy: threeASecond,
    steps: [
      [0, 4, reject(3, SECOND, Infinity)],
      [0, 3, pass(0, SECOND)],
      [500_000, 3, reject(0, 500_000, 500_000)],
      [500_000, 4, reject(0, 500_000, Infinity)],
      [1_000_000, 2, pass(1, SECOND)],
      [1_000_000, 2, reject(1, SECOND, SECOND)],
      [1_000_000, 1, pass(0, SECOND)],
    ],
  },
  'answers cost 0 as it would cost 1, and charges nothing': {
    policy: threeASecond,
    steps: [
      [250_000, 0, pass(3, 750_000)],
      [250_000, 3, pass(0, 750_000)],
      [250_000, 0, reject(0, 750_000, 750_000)],
      [1_000_000, 0, pass(3, SECOND)],
    ],
  },
  'counts in windows of a millisecond': {
    policy: { algorithm: 'fixed-window', limit: 1, window: 1 },
    steps: [
      [999, 1, pass(0, 1)],
      [MILLISECOND, 1, pass(0, MILLISECOND)],
      [2 * MILLISECOND - 1, 1, reject(0, 1, 1)],
      [2 * MILLISECOND, 1, pass(0, MILLISECOND)],
    ],
  },
  'counts to 1e12 in windows of a day': {
    policy: { algorithm: 'fixed-window', limit: 1_000_000_000_000, window: '1d' },
    steps: [
      [0, 999_999_999_999, pass(1, DAY)],
      [1, 1, pass(0, DAY - 1)],
      [DAY - 1, 1, reject(0, 1, 1)],
      [DAY, 1_000_000_000_000, pass(0, DAY)],
    ],
  },
  'forgets an earlier window, however far the clock leaps': {
    policy: threeASecond,
    steps: [
      [0, 3, pass(0, SECOND)],
      [1_000 * DAY, 3, pass(0, SECOND)],
      [1_000 * DAY, 1, reject(0, SECOND, SECOND)],
    ],
  },
  'moves the count into the current window if the clock steps back': {
    policy: threeASecond,
    steps: [
      [10 * SECOND, 2, pass(1, SECOND)],
      [9_900_000, 1, pass(0, 100_000)],
      [9_900_000, 1, reject(0, 100_000, 100_000)],
      [10 * SECOND, 3, pass(0, SECOND)],
    ],
  },
  'continues the later window if the clock steps back within the skew': {
    policy: threeASecond,
    maxSkewMs: 100,
    steps: [
      [10 * SECOND, 2, pass(1, SECOND)],
      [9_900_000, 1, pass(0, 1_100_000)],
      [9_900_000, 1, reject(0, 1_100_000, 1_100_000)],
      [10 * SECOND, 1, reject(0, SECOND, SECOND)],
      [9_899_999, 1, reject(0, 100_001, 100_001)],
      [10 * SECOND, 1, pass(2, SECOND)],
    ],
  },
  'begins a window with the first request after the last one, which neither a peek nor a rejection does': {
    policy: { ...threeASecond, align: 'first-request' },
    steps: [
      [300_000, 0, pass(3, SECOND)],
      [400_000, 4, reject(3, SECOND, Infinity)],
      [700_000, 1, pass(2, SECOND)],
      [1_000_000, 2, pass(0, 700_000)],
      [1_699_999, 1, reject(0, 1, 1)],
      [1_700_000, 0, pass(3, SECOND)],
      [2_650_000, 3, pass(0, SECOND)],
      [3_649_999, 1, reject(0, 1, 1)],
      [3_650_000, 1, pass(2, SECOND)],
      [1_000 * DAY, 3, pass(0, SECOND)],
    ],
  },
  'moves the count into a window from now if the clock steps back, where a first request begins it': {
    policy: { ...threeASecond, align: 'first-request' },
    steps: [
      [10 * SECOND, 2, pass(1, SECOND)],
      [9_900_000, 1, pass(0, SECOND)],
      [10_899_999, 1, reject(0, 1, 1)],
      [10_900_000, 3, pass(0, SECOND)],
    ],
  },
  'continues the window that a first request began if the clock steps back within the skew': {
    policy: { ...threeASecond, align: 'first-request' },
    maxSkewMs: 100,
    steps: [
      [10 * SECOND, 2, pass(1, SECOND)],
      [9_900_000, 1, pass(0, 1_100_000)],
      [10_999_999, 1, reject(0, 1, 1)],
      [11 * SECOND, 1, pass(2, SECOND)],
    ],
  },
  'begins its windows with the days of a calendar': {
    policy: { algorithm: 'fixed-window', limit: 2, window: { calendar: 'day', timeZone: 'America/New_York' } },
    steps: [
      [0, 1, pass(1, 240 * MINUTE)], // 20:00 of the evening before
      [240 * MINUTE - 1, 1, pass(0, 1)],
      [240 * MINUTE - 1, 1, reject(0, 1, 1)],
      [240 * MINUTE, 2, pass(0, DAY)],
      [240 * MINUTE + DAY - 1, 1, reject(0, 1, 1)],
      [240 * MINUTE + DAY, 1, pass(1, DAY)],
    ],
  },
  'begins its windows with the months of a calendar, however long they are': {
    policy: { algorithm: 'fixed-window', limit: 1, window: { calendar: 'month', timeZone: 'Europe/Paris' } },
    steps: [
      [0, 1, pass(0, 5 * DAY - 120 * MINUTE)], // 26 June
      [5 * DAY - 120 * MINUTE - 1, 1, reject(0, 1, 1)],
      [5 * DAY - 120 * MINUTE, 1, pass(0, 31 * DAY)],
      [36 * DAY - 120 * MINUTE, 1, pass(0, 31 * DAY)],
      [67 * DAY - 120 * MINUTE, 1, pass(0, 30 * DAY)],
      [128 * DAY - 60 * MINUTE - 1, 1, pass(0, 1)], // October has an hour more
    ],
  },
};
