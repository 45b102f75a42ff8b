import { it } from '@jest/globals';
import type { BreakableServer } from '../support/faults/breakable-server.js';
import { expectFailover, useSentinelPod } from '../support/faults/sentinel-fixture.js';

const on = useSentinelPod();

it.each<[string, (master: BreakableServer) => unknown, (master: BreakableServer) => unknown]>([
  ['stopped', (master) => master.stop(), (master) => master.cont()],
  ['handed over as planned', () => on.sentinel.failover(), () => undefined],
])('a master that is %s: every request is answered in time, and its replica decides without help', (...fault) =>
  expectFailover(on, ...fault),
);
