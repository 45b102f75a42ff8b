import { execFileSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import request from 'supertest';
import type { Tick } from '../../libs/control-room/live.js';
import { Pods } from '../../libs/control-room/pods/pods.js';
import { PodProcess } from '../../libs/control-room/pods/pod-process.js';
import type { PodsResult, PodsTick } from '../../libs/control-room/pods/pods-tick.js';
import { StageRedis } from '../../libs/control-room/stage-redis.js';
import { until } from '../support/faults/until.js';
import { LiveStream } from './support/live-stream.js';
import { ServiceProcess } from './support/service-process.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

jest.setTimeout(120_000); // three processes start, and the machine may be busy

const CONTROLS = [
  ['put', 'counting', { together: true }],
  ['post', 'sends', {}],
  ['put', 'redis', { up: false }],
] as const;
type Control = readonly ['put' | 'post', string, object];

const closing: (() => Promise<unknown>)[] = [];

beforeAll(() => {
  // The pods are processes of their own, which run TypeScript as Jest does.
  process.env['NODE_OPTIONS'] = `--import ${new URL('../support/typescript-loader.js', import.meta.url).href}`;
});

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

async function open(platform: (typeof PLATFORMS)[number], variables: Record<string, string> = {}): Promise<Service> {
  const service = await start(platform, variables);
  closing.push(() => service.app.close());
  return service;
}

/** Sends a request like the page. */
function control(url: string, [method, path, body]: Control): request.Test {
  return request(url)[method](`/control-room/pods/${path}`).set('X-Control-Room', '1').send(body);
}

async function press(url: string): Promise<PodsResult> {
  return (await control(url, ['post', 'sends', {}]).expect(200)).body as PodsResult;
}

const count = (url: string, together: boolean): request.Test =>
  control(url, ['put', 'counting', { together }]).expect(204);
const turn = (url: string, up: boolean): request.Test => control(url, ['put', 'redis', { up }]).expect(204);

class Page implements AsyncDisposable {
  private constructor(private readonly stream: LiveStream) {}

  static async open(url: string): Promise<Page> {
    const page = new Page(await LiveStream.open(url));
    await until('a tick', 10_000, () => Promise.resolve(page.stream.ticks.length > 0));
    return page;
  }

  get room(): LiveStream['room'] {
    return this.stream.room;
  }

  get pods(): PodsTick {
    return (this.stream.ticks.at(-1) as Tick).pods!;
  }

  async see(what: string, holds: (pods: PodsTick) => boolean): Promise<void> {
    await until(what, 40_000, () => Promise.resolve(holds(this.pods)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stream[Symbol.asyncDispose]();
  }
}

/** The processes that a process has started, and those that these have started. */
function descendants(pid: number): { readonly pid: number; readonly command: string }[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  const all = lines.flatMap((line) => {
    const [, own, parent, command] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return command === undefined ? [] : [{ pid: Number(own), parent: Number(parent), command }];
  });
  const below = (parent: number): typeof all =>
    all.filter((one) => one.parent === parent).flatMap((one) => [one, ...below(one.pid)]);
  return below(pid).filter(({ command }) => !command.startsWith('ps '));
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** What passes of a new rider's 75 requests, without what refilled meanwhile on a busy machine. */
function passedAtOnce({ passed, refilled }: PodsResult): number {
  return passed - refilled;
}

describe('the pods', () => {
  it.each(PLATFORMS)('admit three times the limit alone, and the limit on one Redis, over %s', async (platform) => {
    const { url } = await open(platform);
    await using page = await Page.open(url);
    expect(page.room!.pods).toEqual({ pods: 3, each: 25, limit: 20, refillPerMinute: 20, share: 6 });
    expect(page.pods).toMatchObject({ phase: 'asleep', together: false, store: { kind: null, isUp: true } });

    const alone = await press(url);
    expect(alone).toMatchObject({ id: 1, counting: 'alone', sent: 75, failed: 0, decidedByShare: 0 });
    expect(passedAtOnce(alone)).toBe(60);
    expect(alone.passed + alone.refused).toBe(75);
    expect(alone.pods.map(({ passed, refused }) => passed + refused)).toEqual([25, 25, 25]);
    await page.see('empty buckets of their own', ({ pods }) => pods.every(({ bucket }) => (bucket?.tokens ?? 20) < 5));
    expect(page.pods).toMatchObject({ phase: 'ready', store: { kind: 'redis', problem: null, isUp: true } });
    expect(page.pods.results.alone).toEqual(alone);

    await count(url, true);
    for (let i = 0; i < 3; i++) {
      const together = await press(url);
      expect(together).toMatchObject({ counting: 'together', sent: 75, failed: 0, decidedByShare: 0 });
      expect(passedAtOnce(together)).toBe(20);
    }
    await page.see('one empty bucket', ({ pods, store }) => {
      return store.bucket !== null && store.bucket.tokens < 10 && pods.every(({ bucket }) => bucket === null);
    });
    expect(passedAtOnce(page.pods.results.alone!)).toBe(60); // stays beside the other
  });
});

describe('the pods of one process', () => {
  let service: Service;
  let url: string;

  beforeAll(async () => {
    service = await start('Express');
    ({ url } = service);
  });
  afterAll(() => service.app.close());

  it('answers 429 beyond a few sends of one address at once, while the pods start', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => control(url, ['post', 'sends', {}])));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429, 429, 429]);
    expect(answers.find(({ status }) => status === 429)!.headers['retry-after']).toBe('1');
  });

  it('go on with a share each while Redis is away, and share again by themselves when it is back', async () => {
    await using page = await Page.open(url);
    const redis = service.app.get(StageRedis, { strict: false });
    await count(url, true);
    expect(passedAtOnce(await press(url))).toBe(20);
    const address = await redis.url();

    await turn(url, false);
    expect(redis.state).toBe('down');
    await page.see('three pods without a store', ({ pods, store }) => {
      return !store.isUp && pods.every(({ reachesStore, bucket }) => !reachesStore && bucket?.limit === 6);
    });
    expect(page.pods.store.bucket).toBeNull();
    const outage = await press(url);
    expect(outage).toMatchObject({ counting: 'outage', sent: 75, failed: 0, decidedByShare: 75 });
    expect(outage.pods.map(({ passed }) => passed)).toEqual([6, 6, 6]);
    await count(url, false);
    expect(passedAtOnce(await press(url))).toBe(60); // they do not notice
    await count(url, true);

    await turn(url, true);
    expect([redis.state, await redis.url()]).toEqual(['up', address]);
    await page.see('three pods with the store', ({ pods, store }) => {
      return store.isUp && store.bucket !== null && pods.every(({ reachesStore }) => reachesStore);
    });
    const back = await press(url);
    expect([back.counting, passedAtOnce(back)]).toEqual(['together', 20]);
    await page.see('all results', ({ results: { alone, together, outage: away } }) => {
      return [alone?.id, together?.id, away?.id].join() === [back.id - 1, back.id, back.id - 2].join();
    });
    await count(url, false);
  });

  it('start again when a process has ended', async () => {
    await using page = await Page.open(url);
    await count(url, false);
    await press(url);
    const [first] = descendants(process.pid).filter(({ command }) => command.includes('pod.main'));
    process.kill(first!.pid, 'SIGKILL');
    await page.see('an ended pod', ({ pods }) =>
      pods.some(({ problem }) => /^Pod \d ended \(SIGKILL\)$/.test(problem ?? '')),
    );
    await page.see('three pods', ({ pods }) => pods.every(({ state }) => state === 'up'));
    expect(passedAtOnce(await press(url))).toBe(60);
  });

  it('start again when a process hangs, and a send does not wait for it', async () => {
    await using page = await Page.open(url);
    await count(url, false);
    await press(url);
    const [first] = descendants(process.pid).filter(({ command }) => command.includes('pod.main'));
    process.kill(first!.pid, 'SIGSTOP');
    expect((await press(url)).failed).toBe(25);
    await page.see('a pod that hangs', ({ pods }) =>
      pods.some(({ problem }) => /^Pod \d has not answered for 5 s$/.test(problem ?? '')),
    );
    await page.see('three pods', ({ pods }) => pods.every(({ state }) => state === 'up'));
    expect(exists(first!.pid)).toBe(false);
    expect(passedAtOnce(await press(url))).toBe(60);
  });

  it('end when nobody has watched for a while, with a store that is back', async () => {
    const { app } = service;
    const [pods, redis] = [app.get(Pods, { strict: false }), app.get(StageRedis, { strict: false })];
    const running = (): number => descendants(process.pid).filter(({ command }) => command.includes('pod.main')).length;
    {
      await using page = await Page.open(url);
      await count(url, true);
      await press(url);
      await turn(url, false);
      expect(running()).toBe(3);
      pods.idleMs = 1500; // longer than the time between two ticks
      await page.see('ticks', ({ store }) => !store.isUp);
    }
    await until('no pods', 10_000, () => Promise.resolve(running() === 0));
    await until('a Redis', 10_000, () => Promise.resolve(redis.state === 'up'));
    await using page = await Page.open(url);
    expect(page.pods).toMatchObject({ phase: 'asleep', together: false, results: { alone: null, together: null } });
    pods.idleMs = 30_000;
    expect(passedAtOnce(await press(url))).toBe(60);
  });
});

describe('the buttons of the pods', () => {
  it('start nothing where the control room only watches', async () => {
    const { url, app } = await open('Express', { CONTROL_ROOM: 'watch' });
    await using page = await Page.open(url);
    expect([page.room!.pods, page.pods]).toEqual([null, null]);
    for (const one of CONTROLS) {
      expect((await control(url, one).expect(403)).body).toMatchObject({ error: 'control_room_watches' });
    }
    expect(app.get(StageRedis, { strict: false }).state).toBe('none');
  });

  it.each(CONTROLS)('%s %s is for the page of this process alone', async (...one) => {
    const { url } = await open('Express');
    await control(url, one).set('Origin', 'http://elsewhere.example').expect(403);
    await control(url, one).set('Sec-Fetch-Site', 'cross-site').expect(403);
    await control(url, one).set('Host', 'rebound.example').expect(403);
    await request(url)[one[0]](`/control-room/pods/${one[1]}`).send(one[2]).expect(403);
    expect(descendants(process.pid).filter(({ command }) => command.includes('pod.main'))).toEqual([]);
  });

  it.each([
    ['counting', {}],
    ['counting', { together: 'yes' }],
    ['redis', { up: 1 }],
  ])('rejects the body of PUT %s: %j', async (path, body) => {
    const { url } = await open('Express');
    expect((await control(url, ['put', path, body])).status).toBe(400);
  });
});

describe('without a redis-server', () => {
  it('three applications of one process share a store in memory, which can be away, too', async () => {
    await using service = await ServiceProcess.start('main', { RATE_LIMIT: 'off', PATH: '/nowhere' });
    const { url } = service;
    await using page = await Page.open(url);
    expect(passedAtOnce(await press(url))).toBe(60);
    await page.see('the store', ({ store }) => store.kind === 'memory');
    expect(page.pods.store).toMatchObject({ problem: 'no redis-server on this machine', isUp: true });
    const below = descendants(service.pid).map(({ command }) => command);
    expect(below.filter((command) => command.includes('pod.main'))).toHaveLength(1);
    expect(below.filter((command) => command.includes('redis'))).toEqual([]);

    await count(url, true);
    expect(passedAtOnce(await press(url))).toBe(20);
    await turn(url, false);
    const outage = await press(url);
    expect(outage).toMatchObject({ counting: 'outage', decidedByShare: 75, passed: 18 });
    await page.see('amber', ({ store, pods }) => !store.isUp && pods.every(({ reachesStore }) => !reachesStore));
    await turn(url, true);
    expect(passedAtOnce(await press(url))).toBe(20);
  });
});

describe('the end of the process', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)('by %s leaves no pod and no Redis', async (signal) => {
    const { PATH = '', TMPDIR = '' } = process.env;
    await using service = await ServiceProcess.start('main', { RATE_LIMIT: 'off', PATH, ...(TMPDIR && { TMPDIR }) });
    await count(service.url, true);
    expect(passedAtOnce(await press(service.url))).toBe(20);
    const left = descendants(service.pid);
    const names = left.map(({ command }) => /pod\.main|redis-server/.exec(command)?.[0] ?? 'other');
    expect(names).toEqual(expect.arrayContaining(['pod.main', 'pod.main', 'pod.main', 'redis-server']));
    const end = await service.end(signal, 15_000);
    expect(end.signal).toBe(signal);
    await until('the end of all', 10_000, () => Promise.resolve(left.every(({ pid }) => !exists(pid))));
    expect(service.log).not.toMatch(/error(?!s\.md)/i); // the warning of RATE_LIMIT=off names docs/errors.md
  });
});

describe('a process of pods', () => {
  it('ends while it starts, and does not start again', async () => {
    const pod = new PodProcess('Pod 1', { pods: 1, share: 3, redisUrl: undefined });
    closing.push(() => pod.close());
    const running = (): number => descendants(process.pid).filter(({ command }) => command.includes('pod.main')).length;
    const started = pod.start().catch((error: Error) => error.name);
    await until('its process', 10_000, () => Promise.resolve(running() === 1));
    await pod.close();
    expect(await started).toBe('AbortError');
    await expect(pod.start()).rejects.toThrow('Pod 1 has ended');
    await until('its end', 10_000, () => Promise.resolve(running() === 0));
  });
});

describe('the Redis of the stage', () => {
  it('starts once, goes away as a crash does, and comes back empty on its port', async () => {
    const stage = new StageRedis();
    closing.push(() => stage.onModuleDestroy());
    expect(stage.state).toBe('none');
    await stage.goAway();
    await stage.comeBack();
    expect(stage.state).toBe('none');
    const [url, same] = await Promise.all([stage.url(), stage.url()]);
    expect([url, stage.state]).toEqual([same, 'up']);
    const client = new Redis(url!, { lazyConnect: true, retryStrategy: () => null });
    await client.connect();
    await client.set('a', '1');
    expect(await client.config('GET', 'save')).toEqual(['save', '']);
    client.disconnect();

    await Promise.all([stage.goAway(), stage.goAway()]);
    expect(stage.state).toBe('down');
    await Promise.all([stage.comeBack(), stage.comeBack()]);
    expect([stage.state, await stage.url()]).toEqual(['up', url]);
    const again = new Redis(url!);
    expect(await again.dbsize()).toBe(0);
    again.disconnect();

    await stage.onModuleDestroy();
    expect(stage.state).toBe('down');
    await stage.comeBack();
    expect(stage.state).toBe('down');
  });

  it('knows when something else has ended it', async () => {
    const stage = new StageRedis();
    closing.push(() => stage.onModuleDestroy());
    const client = new Redis((await stage.url())!, { retryStrategy: () => null });
    client.on('error', () => undefined);
    await client.call('SHUTDOWN', 'NOSAVE').catch(() => undefined);
    await until('its end', 5000, () => Promise.resolve(stage.state === 'down'));
    await stage.comeBack();
    expect(stage.state).toBe('up');
  });
});
