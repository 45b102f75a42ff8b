import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { Stage, STAGE_OPTIONS, type StageOptions } from '../../demo/control-room/stage/stage.js';
import type { SurgePhase, SurgeTick, WorldId } from '../../demo/control-room/stage/surge-tick.js';
import { StageRedis } from '../../demo/control-room/stage-redis.js';
import { until } from '../support/faults/until.js';
import { descendants } from './support/descendants.js';
import { LiveStream } from './support/live-stream.js';
import { type Override, type Service, start } from './support/start-app.js';

jest.setTimeout(240_000); // processes start in real time, and the machine may be busy

const TYPESCRIPT = fileURLToPath(new URL('../support/typescript-loader.js', import.meta.url));
const START_MS = 90_000;
const SOON_MS = 20_000;
/** Matching of 20 requests per second whose queue is short: a run of a few seconds overloads it. */
const SMALL = {
  MATCHING_WORKERS: '2',
  MATCHING_SERVICE_MS: '100',
  MATCHING_QUEUE: '5',
  MATCHING_LIMIT: '15',
};
const OPTIONS: StageOptions = {
  times: { surge: 4600, recovery: 2000 },
  startsWithViewer: true,
  lingerMs: 60_000,
  idleMs: 600_000,
};
const NO_REDIS = { url: async () => undefined };

beforeAll(() => {
  // The worlds inherit it.
  process.env['NODE_OPTIONS'] =
    `${process.env['NODE_OPTIONS'] ?? ''} --import ${TYPESCRIPT} --disable-warning=ExperimentalWarning`;
});

const services: Service[] = [];
const streams: LiveStream[] = [];
afterEach(async () => {
  await Promise.all(streams.splice(0).map((stream) => stream[Symbol.asyncDispose]()));
  for (const { app } of services.splice(0)) await app.close();
});

async function open(options: Partial<StageOptions> = {}, redis: object = NO_REDIS): Promise<Service> {
  const overrides: Override[] = [
    [STAGE_OPTIONS, { ...OPTIONS, ...options }],
    [StageRedis, redis],
  ];
  const service = await start({ ...SMALL, RATE_LIMIT: 'on', MATCHING_SERVICE_MS: '100' }, overrides);
  services.push(service);
  return service;
}

async function watch({ url }: { readonly url: string }): Promise<LiveStream> {
  const stream = await LiveStream.open(url);
  streams.push(stream);
  return stream;
}

/** Processes of worlds that this process has started. */
function worldPids(): number[] {
  return descendants(process.pid).flatMap(({ pid, command }) => (command.includes('world.main') ? [pid] : []));
}

function put({ url }: { readonly url: string }, path: string, on: boolean): request.Test {
  return request(url).put(`/control-room/${path}`).set('X-Control-Room', '1').send({ on });
}

const surgesOf = (stream: LiveStream): SurgeTick[] => stream.ticks.flatMap(({ surge }) => (surge ? [surge] : []));

function phase(stream: LiveStream, wanted: SurgePhase, limitMs = SOON_MS): Promise<SurgeTick> {
  return until(`the phase ${wanted}`, limitMs, () => {
    const now = surgesOf(stream).at(-1);
    return now?.phase === wanted ? now : undefined;
  });
}

const IDS: readonly WorldId[] = ['left', 'right'];

describe('the surge', () => {
  it('starts the worlds with the first viewer, and sends the same crowd to both', async () => {
    const service = await open();
    expect(worldPids()).toEqual([]);
    const stream = await watch(service);
    const ready = await phase(stream, 'ready', START_MS);
    expect(worldPids()).toHaveLength(2);
    expect(stream.room!.surge).toMatchObject({ seconds: 6.6, capacity: 20, demand: 50, patienceMs: 3000 });
    expect(ready.worlds!.left.sample).toMatchObject({ enforced: false, decider: 'none', served: 0 });
    expect(ready.worlds!.right.sample).toMatchObject({ enforced: true, decider: 'process', served: 0 });

    await Promise.all([put(service, 'surge', true).expect(204), put(service, 'surge', true).expect(204)]);
    await until('both verdicts', 4 * SOON_MS, () => surgesOf(stream).at(-1)!.verdicts.length === 2);
    const last = await phase(stream, 'ready');
    expect(last.verdicts.map((verdict) => verdict.phase)).toEqual(['surge', 'recovery']);
    for (const id of IDS) {
      const { rush, sample } = last.worlds![id];
      expect(rush.served + rush.refused + rush.failed).toBe(rush.sent);
      const figures = last.verdicts.map(({ worlds }) => worlds[id]);
      expect(figures[0]!.rides).toEqual(rush); // what the page counts is what it judges
      expect(figures[0]!.sent).toBeGreaterThan(rush.sent);
      expect(figures[0]!.sent).toBeGreaterThan(100);
      expect(sample.enforced).toBe(true); // the left world since its recovery
    }
    expect(last.stoppedAfterS).toBeNull();
    const [left, right] = IDS.map((id) => last.verdicts[0]!.worlds[id]);
    expect(left!.failed).toBeGreaterThan(0);
    expect(right!.refused).toBeGreaterThan(0);

    await put(service, 'surge', true).expect(204);
    const next = await until('a rush without limits on the left', SOON_MS, () => {
      const now = surgesOf(stream).at(-1);
      return now?.phase === 'surge' && now.worlds?.left.sample.enforced === false ? now : undefined;
    });
    expect(next.verdicts).toEqual([]);
    await put(service, 'surge', false).expect(204);
    const stopped = await phase(stream, 'ready');
    // What there is of the phase is judged.
    expect(stopped.verdicts.map((verdict) => verdict.phase)).toEqual(['surge']);
    expect(stopped.stoppedAfterS).toBeLessThanOrEqual(OPTIONS.times.surge / 1000);
  });

  it('says that a world has ended, ends the other, and recovers with the next press', async () => {
    const service = await open();
    const stream = await watch(service);
    await put(service, 'surge', true).expect(204);
    await phase(stream, 'surge', START_MS);
    const [world] = worldPids();
    process.kill(world!, 'SIGSTOP');
    const enforced = countEnforced(service);
    const switches = IDS.map(async (id) => (await put(service, `worlds/${id}/limits`, true)).status);
    await until('the other world has its limits', SOON_MS, () => enforced() >= 1); // this one cannot answer
    process.kill(world!, 'SIGKILL');
    expect((await Promise.all(switches)).toSorted(byNumber)).toEqual([204, 409]); // that of the other world, and that of this one
    const gone = await phase(stream, 'unavailable');
    expect(gone.problem).toMatch(/^The world with(out)? limits ended \(SIGKILL\)/);
    expect(gone.problem).not.toContain('\n');
    expect(gone.worlds).not.toBeNull();
    await until('the end of the other', SOON_MS, () => worldPids().length === 0);
    await put(service, 'surge', true).expect(204);
    const again = await phase(stream, 'surge', START_MS);
    expect(again.problem).toBeNull();
    expect(worldPids()).toHaveLength(2);
  });

  it('leaves no process when the application closes while worlds start, or during a run', async () => {
    const starting = await open();
    const early = await watch(starting);
    await phase(early, 'starting');
    await until('processes', SOON_MS, () => worldPids().length === 2);
    expect(await closed(starting)).toBeLessThan(10_000);
    expect(worldPids()).toEqual([]);

    const running = await open();
    const stream = await watch(running);
    await put(running, 'surge', true).expect(204);
    await phase(stream, 'surge', START_MS);
    expect(await closed(running)).toBeLessThan(10_000);
    expect(worldPids()).toEqual([]);
  });
});

/** How many switches of limits the worlds have answered from now on. */
function countEnforced({ app }: Service): () => number {
  let count = 0;
  for (const world of Object.values(app.get(Stage, { strict: false })['worlds']!.ready!)) {
    const enforce = world.enforce.bind(world);
    world.enforce = async (on) => {
      await enforce(on);
      count++;
    };
  }
  return () => count;
}

/** Closes the application. @returns the milliseconds that it takes */
async function closed(service: Service): Promise<number> {
  const since = performance.now();
  services.splice(services.indexOf(service), 1);
  await service.app.close();
  return performance.now() - since;
}

function byNumber(a: number, b: number): number {
  return a - b;
}
