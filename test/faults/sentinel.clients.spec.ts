import { expect, it } from '@jest/globals';
import { Pod } from '../support/faults/pod.js';
import { expectFailover, useSentinelPod } from '../support/faults/sentinel-fixture.js';
import { until } from '../support/faults/until.js';

const LIMIT_MS = 10_000;

const on = useSentinelPod();

it('a master that is killed: every request is answered in time, and its replica decides without help', () =>
  expectFailover(
    on,
    'killed',
    (master) => master.kill(),
    (master) => master.restart(),
  ));

it('leaves no connection open when the application closes', async () => {
  const connected = async (): Promise<number> => {
    const lists = await Promise.all(on.sentinel.watchers.map(({ client }) => client.client('LIST')));
    return lists.flatMap((list) => String(list).match(/^id=.* name=(?!sentinel)/gm) ?? []).length;
  };
  const withIt = await connected();
  await on.pod.app.close();
  await until('its connections to the Sentinels are closed', LIMIT_MS, async () => (await connected()) < withIt);
  const without = await connected();
  const another = await Pod.start({ redis: { sentinels: on.sentinel.addresses, name: on.sentinel.name } });
  await another.recovered();
  expect(await connected()).toBeGreaterThan(without);
  await another.app.close();
  await until('those of another one, too', LIMIT_MS, async () => (await connected()) <= without);
});
