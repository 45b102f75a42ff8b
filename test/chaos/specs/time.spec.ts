import { expect, it } from '@jest/globals';
import { checkAnswers } from '../checks/answers.js';
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
});

it.each([
  ['a missing answer', { status: 0, error: 'socket hang up' }, 'no answer (socket hang up)'],
  ['a failure', { status: 500 }, 'status 500'],
  ['a late answer', { endedAt: 1900 }, 'answered after 900 ms'],
])('finds %s', (_, given, text) => {
  const evidence = new Evidence();
  evidence.parts.sent = [sent({}), sent({ status: 429 }), sent({ status: 503, route: 'tokens' })];
  expect(textsOf(checkAnswers(evidence.run))).toEqual([]);
  evidence.parts.sent = [sent(given)];
  expect(textsOf(checkAnswers(evidence.run))).toEqual([expect.stringContaining(text)]);
});

it('finds a process that decides without Redis for too long after a fault', () => {
  const evidence = new Evidence();
  evidence.fault('redis stopped', 9_000, 10_000);
  for (let at = 10_010; at < 16_000; at += 20) {
    evidence.decided(['window'], at, at < 11_000 ? { source: 'local' } : {});
    evidence.decided(['window'], at, at < 13_500 ? { source: 'local', pod: 1 } : { pod: 1 });
  }
  const { failures, recoveriesMs } = checkRecovery(evidence.run);
  expect(recoveriesMs).toEqual([1010, 3510]);
  expect(textsOf({ failures })).toEqual([expect.stringContaining('Redis decides for pod 1 again after 3510 ms')]);
});
