import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import type { Decision, StoreStateChange } from 'nestjs-floodgate';
import { ALL_ALGORITHMS, SMALL_POLICIES } from '../support/algorithm-of.js';
import { Pod } from '../support/faults/pod.js';
import { freshReply, resp, RespServer } from '../support/faults/resp-server.js';
import { until } from '../support/faults/until.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

type Reply = (fresh: (number | string)[], numbers: number) => unknown;

/** Replies that the program never sends. */
const WRONG: readonly (readonly [string, Reply | string])[] = [
  ['a status', '+OK\r\n'],
  ['a status that a transaction has', '+QUEUED\r\n'],
  ['nil', '$-1\r\n'],
  ['a nil array', '*-1\r\n'],
  ['a number', ':1\r\n'],
  ['a text', resp('session of ada: a-secret')],
  ['an empty array', () => []],
  ['an array of one', () => [1]],
  ['the instant alone', ([now]) => [now]],
  ['a negative level', ([now], count) => [now, -5, ...Array.from({ length: count - 1 }, () => 1)]],
  ['all levels negative', ([now], count) => [now, ...Array.from({ length: count }, () => -7)]],
  ['no level', ([now], count) => [now, ...Array.from({ length: count }, () => undefined)]],
  ['levels as texts', ([now, ...levels]) => [now, ...levels.map(String)]],
  ['levels that are no numbers', ([now, ...levels]) => [now, ...levels.map(() => 'NaN')]],
  ['nested levels', ([now, ...levels]) => [now, levels]],
  ['one number too many', (fresh) => [...fresh, 0]],
  ['one number too few', (fresh) => fresh.slice(0, -1)],
  ['two replies', (fresh) => [...fresh, ...fresh]],
  ['a huge level', ([now], count) => [now, ...Array.from({ length: count }, () => 2 ** 60)]],
  ['an instant in milliseconds', ([, ...levels]) => [Date.now(), ...levels]],
  ['no instant', ([, ...levels]) => [undefined, ...levels]],
  ['a failure too many', (fresh) => [...fresh, -1]],
  ['a failure that there is not', ([now]) => [now, -3]],
];

function bytesOf(reply: Reply | string, args: readonly string[]): string {
  if (typeof reply === 'string') return reply;
  const fresh = freshReply(args);
  return resp(reply(fresh, fresh.length - 1));
}

describe.each(ALL_ALGORITHMS)('a wrong reply to a %s', (algorithm) => {
  const policy = { ...SMALL_POLICIES[algorithm], name: 'p' };

  it.each(WRONG)('%s: the store fails, and the log shows the reply', async (_, reply) => {
    await using server = await RespServer.start();
    await using pod = await Pod.start({ redis: server.url, denialCache: 0 });
    const ask = async (): Promise<Decision> => {
      const user = { kind: 'user', value: randomUUID() };
      if (algorithm !== 'concurrency') return pod.limiter.consume(policy, user);
      return (await pod.limiter.acquire(policy, user)).decision;
    };
    expect((await ask()).decidedBy).toBe('store');
    server.answering = (args) => bytesOf(reply, args);
    const decisions = await Promise.all([ask(), ask(), ask()]);
    expect(decisions.map(({ allowed, decidedBy }) => [allowed, decidedBy])).toEqual(
      Array.from({ length: 3 }, () => [true, 'local']),
    );
    expect(pod.app.logs.of('warn')).toEqual([
      expect.stringMatching(
        /^The store could not decide: Redis did not decide: the reply is not a decision: .{1,300}$/,
      ),
    ]);
    expect(pod.app.logs.text).not.toContain('secret');
    expect(pod.app.logs.of('error')).toEqual([]);
  });
});

it('wrong replies open the breaker and keep it open, and right ones close it', async () => {
  const changes: StoreStateChange[] = [];
  await using server = await RespServer.start();
  await using pod = await Pod.start({ redis: server.url, onStoreStateChange: (change) => void changes.push(change) });
  await pod.ask();
  server.answering = () => '+OK\r\n';
  for (let i = 0; i < 5; i++) expect((await pod.ask(randomUUID())).decidedBy).toBe('local');
  expect(changes).toMatchObject([{ available: false, reason: "the reply is not a decision: 'OK'" }]);
  await delay(1_000); // several probes
  expect(changes).toHaveLength(1);
  server.answering = undefined;
  await until('Redis decides again', 2_000, async () => (await pod.ask(randomUUID())).decidedBy === 'store');
  expect(changes).toHaveLength(2);
});
