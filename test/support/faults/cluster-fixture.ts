import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { Cluster } from 'ioredis';
import type { RateLimitModuleOptions } from 'nestjs-floodgate';
import { Pod } from './pod.js';
import { RedisCluster } from './redis-cluster.js';

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
