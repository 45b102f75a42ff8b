import { setTimeout as delay } from 'node:timers/promises';
import type { PlannedFault } from '../plan.js';
import type { Scene } from '../run/scene.js';

/** Injects a fault and ends it. */
export type Injure = (scene: Scene, fault: PlannedFault) => Promise<unknown>;

const SECRET = 'changed';

async function between(begin: Promise<unknown>, forMs: number, end: () => Promise<unknown>): Promise<void> {
  await begin;
  await delay(forMs);
  await end();
}

const config = (scene: Scene, name: string, value: string): Promise<unknown> =>
  scene.redis.operator.config('SET', name, value);

const killClients = ({ redis }: Scene): Promise<unknown> => redis.operator.call('CLIENT', 'KILL', 'USER', 'default');

async function repeatedly(forMs: number, pauseMs: number, work: () => Promise<unknown>): Promise<void> {
  const until = performance.now() + forMs;
  while (performance.now() < until) {
    await work();
    await delay(pauseMs);
  }
}

export const REDIS_FAULTS = {
  'redis stopped': async ({ redis }, { forMs }) => {
    redis.clocked.server.pause();
    await delay(forMs);
    redis.clocked.server.resume();
  },
  'redis killed': ({ redis }, { forMs }) => redis.kill(delay(forMs)),
  'keys flushed': ({ redis }) => redis.flush(),
  'scripts flushed': ({ redis }, { forMs, amount }) => repeatedly(forMs, amount, () => redis.operator.script('FLUSH')),
  'clients killed': (scene, { forMs, amount }) => repeatedly(forMs, amount, () => killClients(scene)),
  'redis asleep': ({ redis }, { forMs }) => redis.operator.call('DEBUG', 'SLEEP', `${forMs / 1000}`),
  'redis full': (scene, { forMs }) =>
    between(config(scene, 'maxmemory', '1'), forMs, () => config(scene, 'maxmemory', '0')),
  'redis without replicas': (scene, { forMs }) =>
    between(config(scene, 'min-replicas-to-write', '1'), forMs, () => config(scene, 'min-replicas-to-write', '0')),
  'redis demoted': ({ redis: { operator } }, { forMs }) =>
    between(operator.replicaof('127.0.0.1', '1'), forMs, () => operator.replicaof('NO', 'ONE')),
  'right withdrawn': ({ redis: { operator } }, { forMs }) =>
    between(operator.acl('SETUSER', 'default', '-evalsha'), forMs, () =>
      operator.acl('SETUSER', 'default', '+evalsha'),
    ),
  'password changed': async (scene, { forMs }) => {
    const { operator } = scene.redis;
    await operator.acl('SETUSER', 'default', 'resetpass', `>${SECRET}`);
    await killClients(scene);
    await delay(forMs);
    await operator.acl('SETUSER', 'default', 'nopass');
  },
  'clients paused': ({ redis: { operator } }, { forMs }) =>
    between(operator.call('CLIENT', 'PAUSE', `${forMs}`, 'ALL'), forMs, () => Promise.resolve()),
  'redis clock jumps': async (scene, { amount }) => {
    // The clock never returns to an earlier offset, so the instant of a decision identifies its epoch.
    const { redis } = scene;
    redis.jumpTo(redis.aheadMs > 0 ? redis.aheadMs - amount : redis.aheadMs + amount);
  },
} satisfies Readonly<Record<string, Injure>>;
