import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Decision, StoreStateChange } from 'nestjs-floodgate';
import { arrivals, timesOf } from '../support/faults/arrivals.js';
import { type Answer, CAPACITY, Pod } from '../support/faults/pod.js';
import { TcpProxy } from '../support/faults/tcp-proxy.js';
import { RedisServer } from '../support/redis-server.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

const DEADLINE_MS = 50;
const LATE_MS = 250;

let server: RedisServer;
let proxy: TcpProxy;
let pod: Pod;
let changes: StoreStateChange[];

beforeEach(async () => {
  server = await RedisServer.start();
  proxy = await TcpProxy.start(server.port);
  changes = [];
  pod = await Pod.start({ redis: proxy.url, onStoreStateChange: (change) => void changes.push(change) });
  await pod.recovered(); // connected
  await pod.ask('the first'); // loads the scripts; on a busy machine its answer may come too late to count
});

afterEach(async () => {
  await pod.app.close();
  await proxy.stop();
  await server.stop();
});

const by = (answers: readonly Answer[], who: Decision['decidedBy']): number =>
  answers.filter(({ decision }) => decision.decidedBy === who).length;

/** Checks that each request has an answer in time, and that the charges are the store's admissions plus at most `unheard`. */
async function expectSettled(
  fault: string,
  answers: readonly Answer[],
  unheard: number,
  recoveryMs?: number,
): Promise<void> {
  for (const { ms } of answers) expect(ms).toBeLessThan(DEADLINE_MS + LATE_MS);
  const charged = CAPACITY - (await pod.leftInRedis());
  expect(charged).toBeGreaterThanOrEqual(pod.admittedByRedis());
  expect(charged).toBeLessThanOrEqual(pod.admittedByRedis() + unheard);
  await pod.conclude(fault, { answers: timesOf(answers), recoveryMs });
}

/** The requests that were sent: they waited for an answer that did not come. */
const unheardOf = (answers: readonly Answer[]): number => answers.filter(({ ms }) => ms > DEADLINE_MS / 2).length;

describe('a network', () => {
  it('that loses the answer to an executed charge: the charge is made once', async () => {
    const answers: Answer[] = [];
    let recoveryMs = 0;
    for (let i = 0; i < 10; i++) {
      proxy.cut({ containing: 'evalsha' });
      const answer = await (i % 2 === 0 ? pod.timed() : pod.timedOnce());
      answers.push(answer);
      expect(answer.decision.decidedBy).toBe('local');
      await proxy.pass();
      recoveryMs = Math.max(recoveryMs, await pod.recovered());
    }
    expect(proxy.cuts).toBe(10);
    expect(CAPACITY - (await pod.leftInRedis())).toBe(5);
    await expectSettled('answer lost after execution', answers, 5, recoveryMs);
  });

  it('that loses answers: no request waits beyond the deadline, and none is sent twice', async () => {
    proxy.dropReplies();
    const answers = await arrivals(pod, 1, 250);
    expect(by(answers, 'local')).toBe(answers.length);
    await proxy.pass();
    const recoveryMs = await pod.recovered();
    await expectSettled('answers lost', answers, unheardOf(answers), recoveryMs);
  });

  it('that is a black hole', async () => {
    proxy.blackHole();
    const answers = await arrivals(pod, 1, 250);
    expect(by(answers, 'local')).toBe(answers.length);
    await proxy.pass();
    const recoveryMs = await pod.recovered();
    await expectSettled('black hole', answers, 0, recoveryMs);
  });

  it('that is a black hole for longer: connections are replaced until one is answered', async () => {
    const { accepted } = proxy;
    proxy.blackHole();
    const answers = await arrivals(pod, 1, 900);
    // The connector's own time limit alone would replace the first one after a second.
    expect(proxy.accepted).toBeGreaterThan(accepted + 1);
    expect(proxy.accepted).toBeLessThan(accepted + 10);
    await proxy.pass();
    const recoveryMs = await pod.recovered();
    await expectSettled('black hole, 0.9 s', answers, 0, recoveryMs);
  });

  it('that is slow on a new connection: the connection is kept', async () => {
    await pod.app.close();
    const { accepted } = proxy;
    proxy.delay(100);
    pod = await Pod.start({ redis: proxy.url });
    expect((await pod.ask()).decidedBy).toBe('local');
    await delay(1000);
    expect(proxy.accepted).toBe(accepted + 1);
    await proxy.pass();
    await pod.recovered();
    expect(proxy.accepted).toBe(accepted + 1);
  });

  it('that takes 15 ms each way: Redis decides everything', async () => {
    // The proxy shares this process, and the machine is busy: the deadline is twice the default and more.
    await pod.app.close();
    pod = await Pod.start({
      redis: proxy.url,
      deadline: 2 * DEADLINE_MS,
      onStoreStateChange: (c) => void changes.push(c),
    });
    changes.length = 0;
    proxy.delay(15);
    const answers = await arrivals(pod, 1, 120);
    expect(by(answers, 'store')).toBe(answers.length);
    expect(changes).toEqual([]);
    await expectSettled('latency 30 ms', answers, 1); // the request of the first pod
  });

  it('that takes 40 ms each way: the fallback decides, the connection stays, and Redis decides when the network is faster', async () => {
    const accepted = proxy.accepted;
    proxy.delay(40);
    const answers = await arrivals(pod, 1, 350);
    expect(by(answers, 'local')).toBe(answers.length);
    await proxy.pass();
    const recoveryMs = await pod.recovered();
    expect(proxy.accepted).toBe(accepted);
    await delay(200); // the answers on their way arrive
    await expectSettled('latency 80 ms', answers, unheardOf(answers), recoveryMs);
  });

  it('that resets connections again and again', async () => {
    const answers: Answer[] = [];
    for (let i = 0; i < 20; i++) {
      proxy.reset();
      answers.push(...(await arrivals(pod, 1, 7)));
      await proxy.pass();
      answers.push(...(await arrivals(pod, 1, 7)));
    }
    const recoveryMs = await pod.recovered();
    await expectSettled('resets, 20 in a row', answers, by(answers, 'local'), recoveryMs);
  });

  it('that refuses connections for a while', async () => {
    await proxy.refuse();
    const answers = await arrivals(pod, 1, 350);
    expect(by(answers, 'local')).toBe(answers.length);
    await proxy.pass();
    const recoveryMs = await pod.recovered();
    await expectSettled('refused', answers, 0, recoveryMs);
  });
});
