import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import request from 'supertest';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import { requireProgram } from '../../tools/programs.js';
import { start } from '../app/support/start-app.js';
import { RIDE } from '../app/support/requests.js';
import { everySpecFor } from '../conformance/conformance.js';
import { until } from '../support/faults/until.js';
import { loadPrograms } from '../support/programs.js';
import { ManifestRedis } from './support/manifest-redis.js';
import { podOf, type Probe, variablesOf } from './support/manifests.js';

const REDIS = podOf('rate-limit-redis').containers[0];

let redis: ManifestRedis;
let admin: Redis;
let application: Redis;

beforeAll(async () => {
  redis = await ManifestRedis.start();
  admin = new Redis(redis.adminUrl);
  application = new Redis(redis.url, { enableReadyCheck: true });
  await loadPrograms(admin);
});

afterAll(async () => {
  admin.disconnect();
  application.disconnect();
  await redis[Symbol.asyncDispose]();
});

beforeEach(async () => {
  await admin.flushdb();
});

await everySpecFor({
  where: "on the manifest's Redis, as the application's user",
  use: () => (options) => new RedisStore(application, options),
});

describe("the manifest's Redis", () => {
  it('has run no command that its users lack the right to', async () => {
    expect(await admin.call('ACL', 'LOG')).toEqual([]);
  });

  it('can fail: each pod then decides with a twelfth of the limit, and reports degraded, not down', async () => {
    await using going = await ManifestRedis.start();
    const [container] = podOf('ride-hailing').containers;
    const { MATCHING_URL: _elsewhere, DATABASE_URL: _outside, ...variables } = variablesOf(container, going.secret);
    const pod = await start({ ...variables, RATE_LIMIT: 'on', REDIS_URL: going.url });
    try {
      const ride = (): request.Test => request(pod.url).post('/api/rides/request').set('X-User-Id', 'ada').send(RIDE);
      await until('Redis decides', 5000, async () => (await ride().expect(200)).headers['x-ratelimit-limit'] === '20');
      await going.server.kill();
      await until('an outage', 5000, async () => {
        return (
          (await request(pod.url).get(container.readinessProbe!.httpGet!.path).expect(200)).body.status === 'degraded'
        );
      });
      const replies = await Promise.all(Array.from({ length: 5 }, ride));
      // 20 / 12, rounded down.
      expect(new Set(replies.map(({ headers }) => headers['x-ratelimit-limit']))).toEqual(new Set(['1']));
      expect(replies.filter(({ status }) => status === 200).length).toBeLessThan(5);
      expect(replies.map(({ status }) => status)).toContain(200);
    } finally {
      await pod.app.close();
    }
  });

  it.each([
    ['GET', 'elsewhere'],
    ['DUMP', 'rl:{user:ada}:x'],
    ['KEYS', '*'],
    ['FLUSHALL'],
    ['CONFIG', 'SET', 'maxmemory', '1'],
    ['ACL', 'LIST'],
    ['SET', 'elsewhere', '1'],
    ['SCRIPT', 'FLUSH'],
    ['SHUTDOWN'],
  ])("keeps the application's user from %s %s", async (command, ...args) => {
    await expect(application.call(command, ...args)).rejects.toThrow('NOPERM');
  });

  it('rejects clients without a user and passwords of another user', async () => {
    const { 'probe-password': probe, 'exporter-password': exporter } = redis.secret.stringData;
    const says = (url: string, ...command: [string, ...string[]]): string =>
      spawnSync(cli(), ['-u', url, '--no-auth-warning', ...command], { encoding: 'utf8' }).stdout;
    const as = (user: string, password: string): string => redis.server.url.replace('//', `//${user}:${password}@`);
    expect(says(redis.server.url, 'PING')).toContain('NOAUTH');
    expect(says(as('exporter', probe!), 'INFO')).toContain('NOAUTH');
    expect(says(as('probe', probe!), 'PING')).toContain('PONG');
    expect(says(as('probe', probe!), 'INFO')).toContain('NOPERM');
    expect(says(as('exporter', exporter!), 'INFO')).toContain('redis_version');
    expect(says(as('exporter', exporter!), 'SET', 'rl:x', '1')).toContain('NOPERM');
  });
});

describe.each<[string, Probe]>([
  ['readiness', REDIS.readinessProbe!],
  ['liveness', REDIS.livenessProbe!],
])("the manifest's %s probe", (_, { exec, timeoutSeconds }) => {
  let directory: string;

  // The probe's command line is unchanged. A redis-cli at the front of PATH adds the port.
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'floodgate-cli-'));
    const path = join(directory, 'redis-cli');
    writeFileSync(path, `#!/bin/sh\nexec '${cli()}' -p ${redis.server.port} "$@"\n`);
    chmodSync(path, 0o755);
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  /** Runs the probe as the kubelet does. Returns the exit status, or null after a timeout. */
  function probe(env: Record<string, string> = {}): number | null {
    const [file, ...args] = exec!.command;
    return spawnSync(file, args, {
      env: {
        ...process.env,
        ...variablesOf(REDIS, redis.secret),
        PATH: `${directory}${delimiter}${process.env['PATH']}`,
        ...env,
      },
      timeout: timeoutSeconds! * 1000,
      killSignal: 'SIGKILL',
    }).status;
  }

  it('succeeds with the password, and fails without it, with a wrong one and as another user', () => {
    expect(probe()).toBe(0);
    expect(probe({ REDISCLI_AUTH: '' })).toBeGreaterThan(0);
    expect(probe({ REDISCLI_AUTH: 'wrong' })).toBeGreaterThan(0);
    expect(probe({ REDISCLI_AUTH: redis.secret.stringData['exporter-password']! })).toBeGreaterThan(0);
  });

  it('fails while Redis hangs, and after Redis has ended', async () => {
    redis.server.pause();
    try {
      expect(probe()).toBeNull();
    } finally {
      redis.server.resume();
    }
    expect(probe()).toBe(0);
    await using gone = await ManifestRedis.start(redis.secret);
    await gone.server.kill();
    writeFileSync(join(directory, 'redis-cli'), `#!/bin/sh\nexec '${cli()}' -p ${gone.server.port} "$@"\n`);
    expect(probe()).toBeGreaterThan(0);
  });
});

/** The path of the client program that belongs to the server under test. */
function cli(): string {
  const server = requireProgram('redis-server');
  return join(dirname(server), server.endsWith('valkey-server') ? 'valkey-cli' : 'redis-cli');
}
