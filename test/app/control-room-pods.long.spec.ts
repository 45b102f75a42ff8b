import { describe, expect, it } from '@jest/globals';
import request from 'supertest';
import type { Tick } from '../../demo/control-room/live.js';
import type { PodsResult, PodsTick } from '../../demo/control-room/pods/pods-tick.js';
import { until } from '../support/faults/until.js';
import { descendants } from './support/descendants.js';
import { LiveStream } from './support/live-stream.js';
import { startService } from './support/start-service.js';

type Control = readonly ['put' | 'post', string, object];

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

  get pods(): PodsTick {
    return (this.stream.ticks.at(-1) as Tick).pods!;
  }

  /** Pods that showed a bucket or numbers of a way in which they did not count. */
  get mixed(): unknown[] {
    const limits = { alone: [20, 60], together: [null, 20], outage: [6, 6] } as const;
    return this.stream.ticks
      .flatMap(({ pods }) => pods!.pods)
      .filter(({ counting, bucket, result }) => {
        const [limit, passed] = limits[counting];
        const isOf = result === null || (result.counting === counting && result.passed <= passed);
        return !isOf || (bucket !== null && bucket.limit !== limit);
      });
  }

  async see(what: string, holds: (pods: PodsTick) => boolean): Promise<void> {
    await until(what, 40_000, () => Promise.resolve(holds(this.pods)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stream[Symbol.asyncDispose]();
  }
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
    expect(outage).toMatchObject({ counting: 'outage', sent: 75, failed: 0, decidedByShare: 75 });
    expect(outage.pods.map(({ passed }) => passed)).toEqual([6, 6, 6]);
    await count(url, false);
    expect(passedAtOnce(await press(url))).toBe(60); // they do not notice
    await count(url, true);
    await page.see('amber', ({ store, pods }) => !store.isUp && pods.every(({ counting }) => counting === 'outage'));
    // The numbers of the outage, and not those of the last press.
    await page.see('the shares', ({ pods }) =>
      pods.every(({ result, bucket }) => result?.passed === 6 && bucket?.limit === 6),
    );
    await turn(url, true);
    expect(passedAtOnce(await press(url))).toBe(20);
    await page.see('the shared bucket', ({ store, pods }) => store.isUp && pods.every(({ result }) => result !== null));
    expect(page.mixed).toEqual([]);
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
    expect(service.log).not.toMatch(/error(?!s\b)/i); // the warning of RATE_LIMIT=off links to the page of errors
  });
});
