import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { arrivals, timesOf } from '../support/faults/arrivals.js';
import type { BreakableServer } from '../support/faults/breakable-server.js';
import { type Answer, CAPACITY, Pod } from '../support/faults/pod.js';
import { RedisSentinel } from '../support/faults/redis-sentinel.js';
import { TcpProxy } from '../support/faults/tcp-proxy.js';
import { until } from '../support/faults/until.js';

jest.setTimeout(60_000); // it is real time, and the machine may be busy

const DEADLINE_MS = 50;
const LATE_MS = 250;
const FAILOVER_MS = 20_000;

let sentinel: RedisSentinel;
let pod: Pod;

beforeAll(async () => {
  sentinel = await RedisSentinel.start();
});

afterAll(() => sentinel.stop());

beforeEach(async () => {
  await sentinel.settled();
  await (await sentinel.master()).client.flushall();
  pod = await Pod.start({ redis: { sentinels: sentinel.addresses, name: sentinel.name } });
  await pod.recovered();
});

afterEach(() => pod.app.close());

it.each<[string, (master: BreakableServer) => unknown, (master: BreakableServer) => unknown]>([
  ['killed', (master) => master.kill(), (master) => master.restart()],
  ['stopped', (master) => master.stop(), (master) => master.cont()],
  ['handed over as planned', () => sentinel.failover(), () => undefined],
])(
  'a master that is %s: every request is answered in time, and its replica decides without help',
  async (what, begin, end) => {
    const master = await sentinel.master();
    await pod.ask();
    await using _ = { [Symbol.asyncDispose]: async () => void (await end(master)) };
    await begin(master);
    const since = performance.now();
    const answers: Answer[] = [];
    await until('the replica decides', FAILOVER_MS, async () => {
      const answer = await pod.timed();
      answers.push(answer, await pod.timedOnce());
      await delay(10);
      return answer.decision.decidedBy === 'store' && (await leftOn(await sentinel.master())) < CAPACITY;
    });
    const recoveryMs = performance.now() - since;
    for (const { ms } of answers) expect(ms).toBeLessThan(DEADLINE_MS + LATE_MS);
    // The writes that the old master had not replicated are lost.
    await pod.conclude(`sentinel: the master is ${what}`, { answers: timesOf(answers), recoveryMs }, { limits: 2 });
  },
);

it('a black hole between this pod and the master: decided locally in time, then by Redis again', async () => {
  await pod.app.close();
  const { host, port } = await sentinel.master();
  await using proxy = await TcpProxy.start(port);
  // This pod reaches the announced address of the master through the proxy.
  const natMap = { [`${host}:${port}`]: { host: proxy.host, port: proxy.port } };
  pod = await Pod.start({ redis: { sentinels: sentinel.addresses, name: sentinel.name, natMap } });
  await pod.recovered();
  expect(proxy.open).toBe(1);
  proxy.blackHole();
  const answers = await arrivals(pod, 1, 700);
  expect(answers.filter(({ decision }) => decision.decidedBy !== 'local')).toEqual([]);
  for (const { ms } of answers) expect(ms).toBeLessThan(DEADLINE_MS + LATE_MS);
  await proxy.pass();
  const recoveryMs = await pod.recovered();
  expect((await sentinel.master()).port).toBe(port); // the master was not replaced
  await pod.conclude('sentinel: black hole to the master', { answers: timesOf(answers), recoveryMs });
  await pod.app.close(); // before the proxy
});

it('leaves no connection open when the application closes', async () => {
  const connected = async (): Promise<number> => {
    const lists = await Promise.all(sentinel.watchers.map(({ client }) => client.client('LIST')));
    return lists
      .map((list) => String(list).match(/^id=.* name=(?!sentinel)/gm)?.length ?? 0)
      .reduce((a, b) => a + b, 0);
  };
  const withIt = await connected();
  await pod.app.close();
  await until('its connections to the Sentinels are closed', 3000, async () => (await connected()) < withIt);
  const without = await connected();
  const another = await Pod.start({ redis: { sentinels: sentinel.addresses, name: sentinel.name } });
  await another.recovered();
  expect(await connected()).toBeGreaterThan(without);
  await another.app.close();
  await until('those of another one, too', 3000, async () => (await connected()) <= without);
});

/** Whether a server has the policy's key, and so has decided. */
async function leftOn({ client }: BreakableServer): Promise<number> {
  return CAPACITY - Number((await client.keys('rl:*ada*')).length > 0);
}
