import { MINUTE, pass, reject, repeat, SECOND, type Tables } from '../instants.js';

const threeASecond = { algorithm: 'sliding-window-log', limit: 3, window: 1_000 } as const;
const DAY = 1_440 * MINUTE;

/** The instants of a sliding window log. */
export const SLIDING_WINDOW_LOG: Tables = {
  'frees each place exactly one window after it was taken': {
    policy: threeASecond,
    steps: [
      [0, 1, pass(2, SECOND)],
      [300_000, 1, pass(1, SECOND)],
      [500_000, 1, pass(0, SECOND)],
      [500_000, 1, reject(0, SECOND, 500_000)],
      [999_999, 1, reject(0, 500_001, 1)],
      [1_000_000, 1, pass(0, SECOND)],
      [1_000_000, 1, reject(0, SECOND, 300_000)],
      [1_299_999, 1, reject(0, 700_001, 1)],
      [1_300_000, 1, pass(0, SECOND)],
    ],
  },
  'rejects the requests that a fixed window admits around its edge': {
    policy: threeASecond,
    steps: [
      ...repeat(3, (i) => [999_999, 1, pass(2 - i, SECOND)]),
      [999_999, 1, reject(0, SECOND, SECOND)],
      [1_000_000, 1, reject(0, 999_999, 999_999)],
      [1_999_998, 1, reject(0, 1, 1)],
      [1_999_999, 3, pass(0, SECOND)],
    ],
  },
  'gives each cost a retryAfter at which enough of the oldest instants have expired': {
    policy: threeASecond,
    steps: [
      [0, 1, pass(2, SECOND)],
      [100_000, 1, pass(1, SECOND)],
      [200_000, 1, pass(0, SECOND)],
      [200_000, 1, reject(0, SECOND, 800_000)],
      [200_000, 2, reject(0, SECOND, 900_000)],
      [200_000, 3, reject(0, SECOND, SECOND)],
      [200_000, 4, reject(0, SECOND, Infinity)],
      [1_099_999, 2, reject(1, 100_001, 1)],
      [1_100_000, 2, pass(0, SECOND)],
    ],
  },
  'admits the whole limit at once, and never more': {
    policy: threeASecond,
    steps: [
      [0, 4, reject(3, 0, Infinity)],
      [0, 3, pass(0, SECOND)],
      [1, 3, reject(0, 999_999, 999_999)],
      [1_000_000, 3, pass(0, SECOND)],
    ],
  },
  'answers cost 0 as it would cost 1, and charges nothing': {
    policy: threeASecond,
    steps: [
      [0, 0, pass(3, 0)],
      [0, 3, pass(0, SECOND)],
      [400_000, 0, reject(0, 600_000, 600_000)],
      [999_999, 0, reject(0, 1, 1)],
      [1_000_000, 0, pass(3, 0)],
    ],
  },
  'is exact beyond the 128 entries that it keeps as one string': {
    policy: { algorithm: 'sliding-window-log', limit: 300, window: 1_000 },
    steps: [
      [0, 100, pass(200, SECOND)],
      [10, 28, pass(172, SECOND)],
      [20, 1, pass(171, SECOND)],
      [30, 171, pass(0, SECOND)],
      [30, 1, reject(0, SECOND, 999_970)],
      [40, 101, reject(0, 999_990, 999_970)],
      [40, 130, reject(0, 999_990, 999_990)],
      [999_999, 1, reject(0, 31, 1)],
      [1_000_000, 100, pass(0, SECOND)],
      [1_000_009, 1, reject(0, 999_991, 1)],
      [1_000_010, 29, reject(28, 999_990, 10)],
      [1_000_030, 200, pass(0, SECOND)],
      [2_000_029, 101, reject(100, 1, 1)],
      [2_000_030, 300, pass(0, SECOND)],
    ],
  },
  'admits a cost of 1,000 at most, whatever its limit': {
    policy: { algorithm: 'sliding-window-log', limit: 2_500, window: 1_000 },
    steps: [
      [0, 1_001, reject(2_500, 0, Infinity)],
      [0, 1_000, pass(1_500, SECOND)],
      [1, 1_000, pass(500, SECOND)],
      [1, 1_001, reject(500, SECOND, Infinity)],
      [1, 1_000, reject(500, SECOND, 999_999)],
      [999_999, 1_000, reject(500, 2, 1)],
      [1_000_000, 1_000, pass(500, SECOND)],
    ],
  },
  'forgets expired instants, however far the clock leaps': {
    policy: threeASecond,
    steps: [
      [0, 3, pass(0, SECOND)],
      [1_000 * DAY, 3, pass(0, SECOND)],
      [1_000 * DAY, 1, reject(0, SECOND, SECOND)],
    ],
  },
  'moves instants that lie ahead to now if the clock steps back': {
    policy: threeASecond,
    steps: [
      [9_800_000, 1, pass(2, SECOND)],
      [10 * SECOND, 1, pass(1, SECOND)],
      [9_900_000, 1, pass(0, SECOND)],
      [9_900_000, 1, reject(0, SECOND, 900_000)],
      [10_799_999, 1, reject(0, 100_001, 1)],
      [10_800_000, 1, pass(0, SECOND)],
      [10_899_999, 1, reject(0, 900_001, 1)],
      [10_900_000, 2, pass(0, SECOND)],
    ],
  },
  'keeps instants that lie ahead if the clock steps back within the skew, and adds new ones at the same instant': {
    policy: threeASecond,
    maxSkewMs: 100,
    steps: [
      [10 * SECOND, 1, pass(2, SECOND)],
      [9_900_000, 1, pass(1, 1_100_000)],
      [9_900_000, 2, reject(1, 1_100_000, 1_100_000)],
      [10_999_999, 2, reject(1, 1, 1)],
      [9_950_000, 1, pass(0, 1_050_000)],
      [10_999_999, 1, reject(0, 1, 1)],
      [11 * SECOND, 3, pass(0, SECOND)],
    ],
  },
};
