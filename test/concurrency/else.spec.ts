import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import { Processes } from '../support/processes.js';
import { useRedis } from '../support/redis-fixture.js';
import { useOneNode } from '../support/faults/by-node.js';
import { openLimiter } from './support/open-limiter.js';
import type { procedures } from './workers/limiter.js';

const PROCESSES = 4;
const WINDOW = { algorithm: 'fixed-window', window: '300d' } as const;
const redis = useRedis();
let processes: Processes<typeof procedures>;

beforeAll(async () => {
  processes = await Processes.start(new URL('workers/limiter.ts', import.meta.url), PROCESSES);
});

afterAll(async () => {
  await processes?.stop();
});

/** The requests of all processes together. */
async function spend(policies: Record<string, Policy>, clients: readonly string[], requests: number) {
  await processes.all('connectWith', () => ({ redis: redis.server.url, policies }));
  const all = await processes.all('spend', () => ({ policy: 'own', clients, requests, inFlight: 16 }));
  return all.flat();
}

describe('processes whose quota runs over', () => {
  it('admit exactly the quota and the credits, and take no credit while the quota has room', async () => {
    const policies = { own: { ...WINDOW, limit: 150, else: 'credits' }, credits: { ...WINDOW, limit: 250 } } as const;
    const spent = await spend(policies, ['acme', 'globex'], 300);
    for (const client of ['acme', 'globex']) {
      const admitted = spent.filter((one) => one.allowed && one.client === client);
      const of = (policy: string): number[] => admitted.filter((one) => one.policy === policy).map(({ atMs }) => atMs);
      expect([of('own').length, of('credits').length]).toEqual([150, 250]);
      // One Redis decides all: nothing ran over before the last unit of the quota was taken.
      expect(Math.min(...of('credits'))).toBeGreaterThanOrEqual(Math.max(...of('own')));
    }
  });

  it('admit each tenant its own share, and all of them together the common surplus', async () => {
    const clients = ['acme', 'globex', 'initech'];
    const policies = {
      own: { ...WINDOW, limit: 40, else: 'surplus' },
      surplus: { ...WINDOW, limit: 100, by: 'global' },
    } as const;
    const spent = await spend(policies, clients, 300);
    const admitted = spent.filter(({ allowed }) => allowed);
    for (const client of clients) {
      expect(admitted.filter((one) => one.client === client && one.policy === 'own')).toHaveLength(40);
    }
    expect(admitted.filter(({ policy }) => policy === 'surplus')).toHaveLength(100);
  });
});

describe('on a Cluster', () => {
  const node = useOneNode();

  it('a share and a surplus of another slot, beside a third one: exact, and all or nothing', async () => {
    const policies = {
      own: { ...WINDOW, limit: 5, else: 'surplus' },
      surplus: { ...WINDOW, limit: 12, by: 'global' },
      total: { ...WINDOW, limit: 20, by: 'global' },
    } as const;
    await using open = await openLimiter(node.client, 'redis', policies);
    const { limiter } = open;
    const tenants = ['acme', 'globex', 'initech'].map((value) => ({ kind: 'tenant', value }));
    const ask = (i: number) => limiter.consume(['own', 'total'], tenants[i % 3]!);
    const decisions = await Promise.all(Array.from({ length: 60 }, (_, i) => ask(i)));
    // Requests of one turn may stand in each other's way for a moment, until the rejected one is refunded: the rest comes one by one.
    for (let i = 0; i < 60; i++) decisions.push(await ask(i));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(20);
    const left = async (name: string, tenant = tenants[0]!) =>
      (await limiter.peek(name, tenant)).policies[0]!.remaining;
    const shares = await Promise.all(
      tenants.map(
        async (tenant) => (await limiter.peek({ ...WINDOW, name: 'own', limit: 5 }, tenant)).policies[0]!.remaining,
      ),
    );
    expect(shares).toEqual([0, 0, 0]);
    expect([await left('surplus'), await left('total')]).toEqual([12 - 5, 0]);
  });

  it('a rejection names the policy of the row that has room first, although each was asked by itself', async () => {
    const policies = {
      soon: { algorithm: 'fixed-window', limit: 1, window: '1d', else: 'late' },
      late: { ...WINDOW, limit: 1, by: 'global' },
    } as const;
    await using open = await openLimiter(node.client, 'redis', policies);
    const ask = () => open.limiter.consume('soon', { kind: 'tenant', value: 'umbrella' });
    expect([await ask(), await ask()].map(({ policies: [one] }) => one!.policy)).toEqual(['soon', 'late']);
    expect((await ask()).policies).toMatchObject([{ policy: 'soon', allowed: false }]);
  });
});
