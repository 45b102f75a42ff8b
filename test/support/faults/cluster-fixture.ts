import { afterAll, afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import { Cluster } from 'ioredis';
import type { RateLimitModuleOptions } from 'nestjs-floodgate';
import { loadPrograms } from '../programs.js';
import { timesOf } from './arrivals.js';
import { type Answer, CAPACITY, Pod, POLICY } from './pod.js';
import { type ClusterNode, RedisCluster } from './redis-cluster.js';
import { until } from './until.js';

/** For the Cluster to promote a replica, which depends on Redis, and for a pod to notice. */
const PROMOTION_MS = 45_000;

export interface ClusterFixture {
  readonly cluster: RedisCluster;
  /** A client with ioredis's defaults, new for each test. */
  readonly client: Cluster;
}

export interface ClusterPodFixture extends ClusterFixture {
  /** New for each test, which begins when Redis decides. */
  readonly pod: Pod;
}

/**
 * A Redis Cluster for the test file that calls this. Each test begins when the Cluster has settled.
 *
 * @param args further command line arguments of each node
 */
export function useCluster(args: readonly string[] = []): ClusterFixture {
  let cluster: RedisCluster;
  let client: Cluster;
  beforeAll(async () => {
    cluster = await RedisCluster.start(args);
  });
  beforeEach(async () => {
    await cluster.settled();
    client = new Cluster(cluster.addresses);
    client.on('error', () => undefined); // Tests kill nodes.
  });
  afterEach(() => client.disconnect());
  afterAll(() => cluster.stop());
  return {
    get cluster() {
      return cluster;
    },
    get client() {
      return client;
    },
  };
}

/** A Redis Cluster whose masters have no keys at the begin of a test, and know the programs. */
export function useEmptyCluster(): ClusterFixture {
  const fixture = useCluster();
  beforeEach(async () => {
    for (const { client } of await fixture.cluster.masters()) {
      await client.flushall();
      await loadPrograms(client);
    }
  });
  return fixture;
}

/** A Redis Cluster, and a pod that uses it. */
export function useClusterPod(args: readonly string[], options: RateLimitModuleOptions): ClusterPodFixture {
  let pod: Pod;
  // Jest runs these hooks in the order of their definition: the pod closes before its client does.
  afterEach(() => pod.app.close());
  const fixture = useCluster(args);
  beforeEach(async () => {
    pod = await Pod.start({ redis: fixture.client, ...options });
    await pod.recovered();
  });
  return {
    get cluster() {
      return fixture.cluster;
    },
    get client() {
      return fixture.client;
    },
    get pod() {
      return pod;
    },
  };
}

/** What Redis has charged a user of `POLICY`. */
export function chargedTo(pod: Pod, user: string): Promise<number> {
  return until('Redis tells what is charged', PROMOTION_MS, async () => {
    const { decidedBy, policies } = await pod.limiter.peek(POLICY, { kind: 'user', value: user });
    return decidedBy === 'store' && CAPACITY - policies[0]!.remaining;
  });
}

/** Loses a master: its users are decided locally, other users by their nodes, and its replica decides without help. */
export async function expectPromotion(
  { cluster, pod }: ClusterPodFixture,
  what: string,
  begin: (master: ClusterNode) => unknown,
  end: (master: ClusterNode) => unknown,
): Promise<void> {
  const [sick, healthy] = (await cluster.masters()) as [ClusterNode, ClusterNode];
  const [bad, good] = [await cluster.userOf(sick, what), await cluster.userOf(healthy, what)];
  for (const user of [bad, good]) expect((await pod.ask(user)).decidedBy).toBe('store');
  await using _ = { [Symbol.asyncDispose]: async () => void (await end(sick)) };
  await begin(sick);
  const answers: Answer[] = [];
  for (let i = 0; i < 8; i++) {
    const [one, other] = await Promise.all([pod.timed(bad), pod.timed(good)]);
    expect(other.decision.decidedBy).toBe('store');
    answers.push(one, other);
  }
  const slot = await cluster.slotOf(`{user:${bad}}`);
  await until('a replica is promoted', PROMOTION_MS, async () => (await cluster.ownerOf(slot)) !== sick);
  const since = performance.now();
  const charged = await chargedTo(pod, bad);
  const recoveryMs = performance.now() - since;
  expect(await chargedTo(pod, good)).toBe(9);
  // Requests whose answers were lost may have been charged, once.
  expect(charged).toBeLessThanOrEqual(9);
  // The writes that the old master had not replicated are lost.
  await pod.conclude(`cluster: a master ${what}`, { answers: timesOf(answers), recoveryMs }, { limits: 2 });
}
