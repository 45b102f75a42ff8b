import { expect, it } from '@jest/globals';
import { checkExactness } from '../checks/exact.js';
import { checkHandlers } from '../checks/handlers.js';
import { checkQueue } from '../checks/queue.js';
import { checkCharges } from '../checks/twice.js';
import type { Turn } from '../run/redis.js';
import { Evidence, textsOf } from './evidence.js';

/** The limit of `window` in two seconds. The share of a process is a quarter. A window begins at an even second. */
const LIMIT = 40;
const SHARE = 10;

function windowFull(evidence: Evidence, count: number, from = 10_000): void {
  for (let i = 0; i < count; i++) evidence.decided(['window'], from + 1 + i, { pod: i % 2 });
}

function over(evidence: Evidence): { shared: number; local: number; failures: string[] } {
  const { verdict, rows } = checkExactness(evidence.run);
  const sum = (field: 'over' | 'overLocally'): number => rows.reduce((total, row) => total + row[field], 0);
  return { shared: sum('over'), local: sum('overLocally'), failures: textsOf(verdict) };
}

it('counts each admission beyond the limit, over all processes', () => {
  const evidence = new Evidence();
  windowFull(evidence, LIMIT);
  expect(over(evidence)).toEqual({ shared: 0, local: 0, failures: [] });
  evidence.decided(['window'], 10_101, { pod: 1 });
  expect(over(evidence)).toMatchObject({
    shared: 1,
    failures: [expect.stringMatching(/'window' admitted pod-1-0.*beyond its limit/)],
  });
});

it('expects a new limit only after lost keys', () => {
  const lost = (at: number): Turn => ({ kind: 'keys lost', from: at, to: at + 1, aheadMs: 0 });
  const evidence = new Evidence();
  windowFull(evidence, LIMIT);
  windowFull(evidence, LIMIT, 10_500);
  expect(over(evidence).shared).toBe(LIMIT);
  evidence.parts.turns = [lost(10_200)];
  expect(over(evidence).shared).toBe(0);
});

it('checks decisions of the fallback against the local share', () => {
  const evidence = new Evidence();
  windowFull(evidence, LIMIT);
  evidence.fault('redis stopped', 10_200, 10_400);
  for (let i = 0; i < SHARE; i++)
    evidence.decided(['window'], 10_300 + i, { source: 'local', remaining: { window: 0 } });
  expect(over(evidence)).toEqual({ shared: 0, local: 0, failures: [] });
  evidence.decided(['window'], 10_350, { source: 'local', remaining: { window: 0 } });
  expect(over(evidence)).toMatchObject({ local: 1, failures: [expect.stringContaining('beyond its local share')] });
});

it('counts a decision of the fallback against the limit when no fault explains it', () => {
  const evidence = new Evidence();
  windowFull(evidence, LIMIT);
  evidence.fault('process stopped', 10_200, 10_400, 0);
  evidence.decided(['window'], 10_300, { source: 'local', remaining: { window: 0 } });
  expect(over(evidence)).toMatchObject({
    shared: 1,
    failures: [
      expect.stringContaining('although no fault kept Redis from the process'),
      expect.stringContaining('beyond its limit'),
    ],
  });
});

it('finds an answer that was decided before its request', () => {
  const evidence = new Evidence();
  evidence.decided(['window'], 10_000, { at: 1 });
  expect(over(evidence).failures).toEqual([expect.stringContaining('at an instant outside of the call')]);
});

it('finds slots that are too close, and requests that were handled before their slot', () => {
  const evidence = new Evidence();
  const first = evidence.decided(['queue', 'ledger'], 1000);
  const second = evidence.decided(['queue', 'ledger'], 1001, { delayMs: 124 });
  first.handledAt = 1000.1;
  second.handledAt = 1125;
  expect(textsOf(checkQueue(evidence.run))).toEqual([]);
  second.handledAt = 1120;
  expect(textsOf(checkQueue(evidence.run))).toEqual([expect.stringContaining('before its slot')]);
  const third = evidence.decided(['queue', 'ledger'], 1002, { delayMs: 247 });
  third.handledAt = 1300;
  expect(textsOf(checkQueue(evidence.run))).toContainEqual(expect.stringContaining('are 124000 us apart'));
});

it('finds handlers that ran though their request was rejected', () => {
  const evidence = new Evidence();
  const request = evidence.decided(['window'], 1000);
  request.before = { ...request.decided!, before: true };
  request.handledAt = 1001;
  expect(textsOf(checkHandlers(evidence.run))).toEqual([]);
  request.decided = { ...request.decided!, allowed: false };
  expect(textsOf(checkHandlers(evidence.run))).toEqual([expect.stringContaining('rejected by the route')]);
  delete request.decided;
  expect(textsOf(checkHandlers(evidence.run))).toEqual([expect.stringContaining('without a decision of the route')]);
});

it('finds charges that count for two requests, and a key that was written twice', () => {
  const evidence = new Evidence();
  evidence.decided(['ledger'], 1000, { charges: 1 });
  evidence.decided(['ledger'], 1001, { charges: 2, pod: 1 });
  evidence.decided(['ledger'], 1002, { charges: 2 });
  expect(textsOf(checkCharges(evidence.run))).toEqual([
    expect.stringContaining('but charges up to 2 belong to earlier requests'),
  ]);

  evidence.parts.writes = new Map([['key', 2]]);
  expect(textsOf(checkCharges(evidence.run))).toContain('key belongs to one request and was written 2 times');
});

it('finds numbers of the ledger without a request that lost its answer', () => {
  const lost = new Evidence();
  lost.decided(['ledger'], 1000, { charges: 1 });
  lost.decided(['ledger'], 1003, { source: 'closed', allowed: false });
  lost.decided(['ledger'], 1005, { charges: 3 });
  expect(textsOf(checkCharges(lost.run))).toEqual([]); // Redis may have charged the request in between
  lost.decided(['ledger'], 1006, { charges: 5 });
  expect(textsOf(checkCharges(lost.run))).toEqual([
    expect.stringContaining('2 charges in the ledger without an admission, but only 1'),
  ]);
});
