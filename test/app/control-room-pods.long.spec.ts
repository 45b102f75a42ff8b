import { execFileSync } from 'node:child_process';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import type { Tick } from '../../libs/control-room/live.js';
import type { PodsResult, PodsTick } from '../../libs/control-room/pods/pods-tick.js';
import { StageRedis } from '../../libs/control-room/stage-redis.js';
import { until } from '../support/faults/until.js';
import { LiveStream } from './support/live-stream.js';
import { startService } from './support/start-service.js';
import { type Service, start } from './support/start-app.js';

jest.setTimeout(120_000); // three processes start, and the machine may be busy

type Control = readonly ['put' | 'post', string, object];

const closing: (() => Promise<unknown>)[] = [];

beforeAll(() => {
  // The pods are processes of their own, which run TypeScript as Jest does.
  process.env['NODE_OPTIONS'] = `--import ${new URL('../support/typescript-loader.js', import.meta.url).href}`;
});

afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

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

describe('the pods of one process', () => {
  let service: Service;
  let url: string;

  beforeAll(async () => {
    service = await start();
    ({ url } = service);
  });
  afterAll(() => service.app.close());

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
    await count(url, false);
  });
});

describe('without a redis-server', () => {
  it('three applications of one process share a store in memory, which can be away, too', async () => {
    await using service = await startService('main', { RATE_LIMIT: 'off', PATH: '/nowhere' });
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
  it('leaves no pod and no Redis, however it comes', async () => {
    const { PATH = '', TMPDIR = '' } = process.env;
    await using service = await startService('main', { RATE_LIMIT: 'off', PATH, ...(TMPDIR && { TMPDIR }) });
    await count(service.url, true);
    expect(passedAtOnce(await press(service.url))).toBe(20);
    const left = descendants(service.pid);
    const names = left.map(({ command }) => /pod\.main|redis-server/.exec(command)?.[0] ?? 'other');
    expect(names).toEqual(expect.arrayContaining(['pod.main', 'pod.main', 'pod.main', 'redis-server']));
    const end = await service.end('SIGKILL', 15_000);
    expect(end.signal).toBe('SIGKILL');
    await until('the end of all', 10_000, () => Promise.resolve(left.every(({ pid }) => !exists(pid))));
    expect(service.log).not.toMatch(/error(?!s\.md)/i); // the warning of RATE_LIMIT=off names docs/errors.md
  });
});
