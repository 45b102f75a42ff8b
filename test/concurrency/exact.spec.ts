import { describe, expect, it } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import { algorithmOf } from '../support/algorithm-of.js';
import { textbookOf } from '../support/textbook-of.js';
import { merge, parse, type Seen } from './support/history.js';
import { differenceFromMemory, differenceFromTextbook } from './support/replay.js';
import { useLimiters } from './support/limiters.js';

/** The requests under way in each process: from one at a time to enough that no batch contains a single request. */
const IN_FLIGHT = [1, 1, 2, 2, 4, 4, 8, 8];
const FOR_MS = 1000;

const limiters = useLimiters(IN_FLIGHT.length);

const POLICIES: readonly Policy[] = [
  // A token every 1666 2/3 microseconds.
  { algorithm: 'token-bucket', capacity: 300, refill: 600 },
  { algorithm: 'leaky-bucket', capacity: 300, drain: 600 },
  { algorithm: 'fixed-window', limit: 300, window: 250 },
  { algorithm: 'fixed-window', limit: 300, window: 250, align: 'first-request' },
  // Redis keeps a log of up to 128 instants in another form than a longer one.
  { algorithm: 'sliding-window-log', limit: 50, window: 60 },
  { algorithm: 'sliding-window-log', limit: 200, window: 300 },
  { algorithm: 'sliding-window-counter', limit: 150, window: 200 },
];

// What a textbook admits in any interval: test/equivalence/bounds.spec.ts.
describe('processes that send requests of one identity as fast as they can get what the textbook gives them one by one', () => {
  it.each(POLICIES)(
    '$algorithm (%#)',
    async (numbers) => {
      const policy = { ...numbers, name: `hammered-${POLICIES.indexOf(numbers)}` };
      // A slow machine takes longer until there is a rejection: otherwise nothing was contended.
      const parsed: Seen[][] = [];
      for (let forMs = FOR_MS; ; forMs *= 2) {
        const histories = await limiters.processes.all('hammer', (i) => ({ policy, forMs, inFlight: IN_FLIGHT[i]! }));
        parsed.push(...histories.map(parse));
        if (parsed.some((history) => history.some(({ allowed }) => !allowed))) break;
      }
      const history = merge(parsed);
      expect(differenceFromTextbook(history, textbookOf(algorithmOf(policy)))).toBeUndefined();
      expect(differenceFromMemory(history, policy)).toBeUndefined();
    },
    120_000,
  );
});
