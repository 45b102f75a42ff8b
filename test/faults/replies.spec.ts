import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { StoreStateChange } from 'nestjs-floodgate';
import { Pod } from '../support/faults/pod.js';
import { resp, RespServer } from '../support/faults/resp-server.js';
import { until } from '../support/faults/until.js';

const LIMIT_MS = 10_000;

// What a changed reply comes to, whatever it is: test/equivalence/mutated-replies.spec.ts.
it('a reply of another program is a failure of the store, and the log does not show it', async () => {
  await using server = await RespServer.start();
  await using pod = await Pod.start({ redis: server.url, denialCache: 0, deadline: 10_000 });
  await pod.recovered();
  server.answering = () => resp('session of ada: a-secret');
  expect(await pod.ask(randomUUID())).toMatchObject({ allowed: true, decidedBy: 'local' });
  const warning = /^The store could not decide: Redis did not decide: the reply is not a decision: .{1,300}$/;
  expect(pod.app.logs.of('warn')).toContainEqual(expect.stringMatching(warning));
  expect(pod.app.logs.text).not.toContain('secret');
  expect(pod.app.logs.of('error')).toEqual([]);
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
