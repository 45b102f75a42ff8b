import { randomUUID } from 'node:crypto';
import { describe, expect, it, jest } from '@jest/globals';
import type { Decision, StoreStateChange } from 'nestjs-floodgate';
import { ALL_ALGORITHMS, SMALL_POLICIES } from '../support/algorithm-of.js';
import { Pod } from '../support/faults/pod.js';
import { freshReply, resp, RespServer } from '../support/faults/resp-server.js';
import { until } from '../support/faults/until.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

const LIMIT_MS = 10_000;

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

  it('is a failure of the store, whatever it is', async () => {
    await using server = await RespServer.start();
    await using pod = await Pod.start({ redis: server.url, denialCache: 0, deadline: 10_000 });
    const ask = async (): Promise<[boolean, Decision['decidedBy']]> => {
      const user = { kind: 'user', value: randomUUID() };
      const decision =
        algorithm === 'concurrency'
          ? (await pod.limiter.acquire(policy, user)).decision
          : await pod.limiter.consume(policy, user);
      return [decision.allowed, decision.decidedBy];
    };
    for (const [what, reply] of WRONG) {
      server.answering = undefined;
      await until('Redis decides', LIMIT_MS, async () => (await ask())[1] === 'store');
      server.answering = (args) => bytesOf(reply, args);
      for (const answer of await Promise.all([ask(), ask()])) expect([what, ...answer]).toEqual([what, true, 'local']);
    }
    const warning = /^The store could not decide: Redis did not decide: the reply is not a decision: .{1,300}$/;
    expect(pod.app.logs.of('warn')).toContainEqual(expect.stringMatching(warning));
    expect(pod.app.logs.text).not.toContain('secret');
    expect(pod.app.logs.of('error')).toEqual([]);
  });
});

it('wrong replies open the breaker and keep it open, and right ones close it', async () => {
  const changes: StoreStateChange[] = [];
  await using server = await RespServer.start();
  await using pod = await Pod.start({ redis: server.url, onStoreStateChange: (change) => void changes.push(change) });
  await pod.recovered();
  changes.length = 0;
  let answers = 0;
  server.answering = () => {
    answers++;
    return '+OK\r\n';
  };
  for (let i = 0; i < 5; i++) expect((await pod.ask(randomUUID())).decidedBy).toBe('local');
  expect(changes).toMatchObject([{ available: false, reason: expect.stringContaining('the reply is not a decision') }]);
  const before = answers;
  await until('it is asked again', LIMIT_MS, () => answers > before + 1);
  expect(changes).toHaveLength(1);
  server.answering = undefined;
  await until('Redis decides again', LIMIT_MS, async () => (await pod.ask(randomUUID())).decidedBy === 'store');
  expect(changes).toHaveLength(2);
});
