import { expect, it } from '@jest/globals';
import { ALLOWED_BYTES, checkHeap } from '../checks/heap.js';
import { checkAnswers } from '../checks/answers.js';
import { checkLogs, LINES_PER_SECOND } from '../checks/logs.js';
import { checkProcesses } from '../checks/processes.js';
import { checkRecovery } from '../checks/recovery.js';
import type { Sent } from '../run/load.js';
import { Evidence, textsOf } from './evidence.js';

const sent = (given: Partial<Sent>): Sent => ({
  id: 'http-1',
  pod: 0,
  route: 'window',
  sentAt: 1000,
  endedAt: 1010,
  status: 200,
  error: '',
  ...given,
});

it('finds decisions beyond the deadline after it subtracts the stalls of their process', () => {
  const evidence = new Evidence();
  evidence.decided(['window'], 2000, { askedAt: 1750 });
  evidence.decided(['window'], 5000, { askedAt: 4000 });
  evidence.process(0).stalls.push({ from: 4050, to: 4950 });
  expect(textsOf(checkAnswers(evidence.run))).toEqual([]);
  evidence.decided(['window'], 7000, { askedAt: 6600 });
  expect(textsOf(checkAnswers(evidence.run))).toEqual([expect.stringContaining('took 400 ms to decide')]);
  // Another process's stall is no excuse.
  evidence.process(1).stalls.push({ from: 6600, to: 7000 });
  expect(textsOf(checkAnswers(evidence.run))).toHaveLength(1);
});

it.each([
  ['a missing answer', { status: 0, error: 'socket hang up' }, 'no answer (socket hang up)'],
  ['a failure', { status: 500 }, 'status 500'],
  ['a 503 of a route without a closed policy', { status: 503 }, 'status 503'],
  ['a late answer', { endedAt: 1900 }, 'answered after 900 ms'],
])('finds %s', (_, given, text) => {
  const evidence = new Evidence();
  evidence.parts.sent = [sent({}), sent({ status: 429 }), sent({ status: 503, route: 'tokens' })];
  expect(textsOf(checkAnswers(evidence.run))).toEqual([]);
  evidence.parts.sent = [sent(given)];
  expect(textsOf(checkAnswers(evidence.run))).toEqual([expect.stringContaining(text)]);
  // An ended process sends no answers.
  evidence.parts.away = [[{ from: 900, to: 2000 }], []];
  expect(textsOf(checkAnswers(evidence.run))).toEqual([]);
});

it('finds a process that decides without Redis for too long after a fault', () => {
  const evidence = new Evidence();
  evidence.fault('redis stopped', 9_000, 10_000);
  for (let at = 10_010; at < 16_000; at += 20) {
    evidence.decided(['window'], at, at < 11_000 ? { source: 'local' } : {});
    evidence.decided(['window'], at, at < 12_500 ? { source: 'local', pod: 1 } : { pod: 1 });
  }
  const { failures, recoveriesMs } = checkRecovery(evidence.run);
  expect(recoveriesMs).toEqual([1010, 2510]);
  expect(textsOf({ failures })).toEqual([expect.stringContaining('Redis decides for pod 1 again after 2510 ms')]);
});

it('finds a heap that grows, and accepts a heap that does not', () => {
  const evidence = new Evidence();
  const figures = (grow: number): void => {
    const { heaps } = evidence.process(0);
    heaps.length = 0;
    for (let i = 0; i < 12; i++)
      heaps.push({ at: 20_000 + i * 3000, bytes: 20_000_000 + grow * i + (i % 3) * 3_000_000 });
  };
  evidence.decided(['window'], 1000);
  figures(0);
  expect(textsOf(checkHeap(evidence.run))).toEqual([]);
  figures(ALLOWED_BYTES / 6);
  expect(textsOf(checkHeap(evidence.run))).toEqual([expect.stringContaining('the heap of pod-0-0 grows')]);
  evidence.process(0).heaps.length = 0;
  expect(textsOf(checkHeap(evidence.run))).toEqual(['no process had enough figures for a trend']);
});

it('finds too many log lines in a second, and errors', () => {
  const evidence = new Evidence();
  evidence.decided(['window'], 1000);
  const { logs } = evidence.process(0);
  for (let i = 0; i < 20; i++) logs.push({ at: 500, level: 'log', text: 'of its start' });
  for (let i = 0; i < LINES_PER_SECOND; i++) logs.push({ at: 2000 + i, level: 'warn', text: 'a warning' });
  logs.push({ at: 3000, level: 'warn', text: 'a second later' });
  expect(textsOf(checkLogs(evidence.run))).toEqual([]);
  logs.push({ at: 3001, level: 'error', text: 'broken' });
  expect(textsOf(checkLogs(evidence.run))).toEqual(['pod-0-0 logs an error: broken']);
  for (let i = 0; i <= LINES_PER_SECOND; i++) logs.push({ at: 5000 + i, level: 'warn', text: 'a warning' });
  expect(textsOf(checkLogs(evidence.run))).toContainEqual(
    expect.stringContaining(`more than ${LINES_PER_SECOND} lines in a second`),
  );
});

it('finds processes that ended by themselves, and the errors that processes recorded', () => {
  const evidence = new Evidence();
  evidence.parts.wrong = [{ at: 1, text: 'pod-0-0 ended by itself (70)' }];
  evidence.process(1).wrong.push({ at: 2, text: 'unhandled rejection: so' });
  expect(textsOf(checkProcesses(evidence.run))).toEqual([
    'pod-0-0 ended by itself (70)',
    'pod-1-0: unhandled rejection: so',
  ]);
});
