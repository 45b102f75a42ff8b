import { expect, it, jest } from '@jest/globals';
import { arrivals, expectLocal, timesOf } from '../support/faults/arrivals.js';
import type { BreakableServer } from '../support/faults/breakable-server.js';
import { Pod } from '../support/faults/pod.js';
import { expectFailover, useSentinelPod } from '../support/faults/sentinel-fixture.js';
import { TcpProxy } from '../support/faults/tcp-proxy.js';

jest.setTimeout(60_000); // it is real time, and the machine may be busy

const on = useSentinelPod();

it.each<[string, (master: BreakableServer) => unknown, (master: BreakableServer) => unknown]>([
  ['stopped', (master) => master.stop(), (master) => master.cont()],
  ['handed over as planned', () => on.sentinel.failover(), () => undefined],
])('a master that is %s: every request is answered in time, and its replica decides without help', (...fault) =>
  expectFailover(on, ...fault),
);

it('a black hole between this pod and the master: decided locally in time, then by Redis again', async () => {
  const { host, port } = await on.sentinel.master();
  await using proxy = await TcpProxy.start(port);
  // This pod reaches the announced address of the master through the proxy.
  const natMap = { [`${host}:${port}`]: { host: proxy.host, port: proxy.port } };
  await using pod = await Pod.start({ redis: { sentinels: on.sentinel.addresses, name: on.sentinel.name, natMap } });
  await pod.recovered();
  expect(proxy.open).toBe(1);
  proxy.blackHole();
  const answers = await arrivals(pod, 200);
  expectLocal(answers);
  await proxy.pass();
  const recoveryMs = await pod.recovered();
  expect((await on.sentinel.master()).port).toBe(port); // the master was not replaced
  await pod.conclude('sentinel: black hole to the master', { answers: timesOf(answers), recoveryMs });
});
