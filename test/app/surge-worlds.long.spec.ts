import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import request from 'supertest';
import { STAGE_OPTIONS, type StageOptions } from '../../libs/control-room/stage/stage.js';
import type { SurgePhase, SurgeTick, WorldId } from '../../libs/control-room/stage/surge-tick.js';
import { StageRedis } from '../../libs/control-room/stage-redis.js';
import { until } from '../support/faults/until.js';
import { RedisServer } from '../support/redis-server.js';
import { LiveStream } from './support/live-stream.js';
import { ServiceProcess } from './support/service-process.js';
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

const { NODE_OPTIONS } = process.env;
beforeAll(() => {
  // The worlds inherit it.
  process.env['NODE_OPTIONS'] = `${NODE_OPTIONS ?? ''} --import ${TYPESCRIPT} --disable-warning=ExperimentalWarning`;
});
afterAll(() => {
  if (NODE_OPTIONS === undefined) delete process.env['NODE_OPTIONS'];
  else process.env['NODE_OPTIONS'] = NODE_OPTIONS;
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
  const service = await start('Express', { ...SMALL, RATE_LIMIT: 'on', MATCHING_SERVICE_MS: '100' }, overrides);
  services.push(service);
  return service;
}

async function watch({ url }: { readonly url: string }): Promise<LiveStream> {
  const stream = await LiveStream.open(url);
  streams.push(stream);
  return stream;
}

/** Processes of worlds that a process has started. */
function worldsOf(parent: number): number[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const [, pid, ppid, args = ''] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return Number(ppid) === parent && args.includes('world.main') ? [Number(pid)] : [];
  });
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
    expect(worldsOf(process.pid)).toEqual([]);
    const stream = await watch(service);
    const ready = await phase(stream, 'ready', START_MS);
    expect(worldsOf(process.pid)).toHaveLength(2);
    expect(stream.room!.surge).toMatchObject({ seconds: 6.6, capacity: 20, demand: 50, patienceMs: 3000 });
    expect(ready.worlds!.left.sample).toMatchObject({ enforced: false, decider: 'none', served: 0 });
    expect(ready.worlds!.right.sample).toMatchObject({ enforced: true, decider: 'process', served: 0 });

    const other = await watch(service);
    await phase(other, 'ready');
    await Promise.all([put(service, 'surge', true).expect(204), put(service, 'surge', true).expect(204)]);
    await phase(stream, 'surge');
    await put(service, 'surge', true).expect(204); // one runs already
    await until('both verdicts', 4 * SOON_MS, () => surgesOf(stream).at(-1)!.verdicts.length === 2);
    const last = await phase(stream, 'ready');

    for (const viewer of [stream, other]) {
      const phases = surgesOf(viewer).map((tick) => tick.phase);
      const changes = phases.filter((each, i) => each !== phases[i - 1] && each !== 'starting' && each !== 'idle');
      // A tick may miss the short phase in which the last riders wait.
      expect(changes.filter((each) => each !== 'ending')).toEqual(['ready', 'surge', 'recovery', 'ready']);
    }
    expect(last.verdicts.map((verdict) => verdict.phase)).toEqual(['surge', 'recovery']);
    for (const id of IDS) {
      const { total, sample } = last.worlds![id];
      expect(total.served + total.refused + total.failed).toBe(total.sent);
      const figures = last.verdicts.map(({ worlds }) => worlds[id]);
      expect(figures.reduce((sum, { sent }) => sum + sent, 0)).toBeLessThanOrEqual(total.sent);
      expect(figures[0]!.sent).toBeGreaterThan(100);
      expect(sample.enforced).toBe(true); // the left world since its recovery
      // Each request that was drawn has its answer, whatever became of it.
      const drawn = surgesOf(stream).flatMap(({ worlds }) => (worlds ? [worlds[id].drawn] : []));
      const answered = drawn.flatMap((one) => one.answered.map((answer) => answer.id));
      expect(answered.toSorted(byNumber)).toEqual(
        drawn.flatMap((one) => one.sent.map(([sent]) => sent)).toSorted(byNumber),
      );
      for (const { dot } of drawn.flatMap((one) => one.answered)) expect(dot[1]).toBeGreaterThanOrEqual(0);
    }
    expect(last.stoppedAfterS).toBeNull();
    const [left, right] = IDS.map((id) => last.verdicts[0]!.worlds[id]);
    expect(left!.failed).toBeGreaterThan(0);
    expect(right!.refused).toBeGreaterThan(0);

    const late = await watch(service);
    await until('the room', SOON_MS, () => late.room);
    const worlds = late.room!.history;
    for (const id of IDS) {
      const { samples, dots } = worlds![id];
      expect(samples.length).toBeGreaterThan(4);
      expect(samples.map(({ atMs }) => atMs)).toEqual(samples.map(({ atMs }) => atMs).toSorted(byNumber));
      expect(dots.length).toBeGreaterThan(50);
    }
    // Before the switch, that is. A request that was sent before it may come after it.
    const switchedAtMs = OPTIONS.times.surge;
    const unlimited = worlds!.left.samples.filter(({ atMs }) => atMs < switchedAtMs);
    expect(unlimited.length).toBeGreaterThan(4);
    expect(unlimited.filter(({ refused }) => refused > 0)).toEqual([]);

    await put(service, 'surge', true).expect(204);
    const next = await phase(stream, 'surge');
    expect(next.verdicts).toEqual([]);
    expect(next.worlds!.left.sample.enforced).toBe(false);
    await put(service, 'surge', false).expect(204);
    const stopped = await phase(stream, 'ready');
    // What there is of the phase is judged.
    expect(stopped.verdicts.map((verdict) => verdict.phase)).toEqual(['surge']);
    expect(stopped.stoppedAfterS).toBeLessThanOrEqual(OPTIONS.times.surge / 1000);
    const { seconds, sent, served, refused, failed, kinds } = stopped.verdicts[0]!.worlds.right;
    expect(seconds).toBeCloseTo(stopped.stoppedAfterS!, 0);
    expect(served + refused + failed).toBe(sent);
    expect(kinds.rides.answered + kinds.estimates.answered).toBeLessThanOrEqual(sent);
  });

  it('leaves the limits to a person who has switched, until the next run', async () => {
    const service = await open();
    await put(service, 'worlds/left/limits', true).expect(409);
    const stream = await watch(service);
    await put(service, 'surge', true).expect(204); // before the worlds are ready
    await phase(stream, 'surge', START_MS);
    await put(service, 'worlds/right/limits', false).expect(204);
    await put(service, 'worlds/middle/limits', false).expect(404);
    await put(service, 'worlds/left/limits', 'yes' as unknown as boolean).expect(400);
    const { worlds } = await phase(stream, 'recovery');
    expect([worlds!.left.sample.enforced, worlds!.right.sample.enforced]).toEqual([false, false]);
    await phase(stream, 'ready');
    expect(surgesOf(stream).at(-1)!.worlds!.left.sample).toMatchObject({ enforced: false });
    await put(service, 'surge', true).expect(204);
    const again = await phase(stream, 'surge');
    expect([again.worlds!.left.sample.enforced, again.worlds!.right.sample.enforced]).toEqual([false, true]);
  });

  it('says that a world has ended, ends the other, and recovers with the next press', async () => {
    const service = await open();
    const stream = await watch(service);
    await put(service, 'surge', true).expect(204);
    await phase(stream, 'surge', START_MS);
    const [world] = worldsOf(process.pid);
    process.kill(world!, 'SIGSTOP');
    await delay(500); // a look at this world is under way, and nothing else waits for it
    const switches = IDS.map(async (id) => (await put(service, `worlds/${id}/limits`, true)).status);
    await delay(1000); // the other world has answered, and this one is asked
    process.kill(world!, 'SIGKILL');
    expect((await Promise.all(switches)).toSorted(byNumber)).toEqual([204, 409]); // that of the other world, and that of this one
    const gone = await phase(stream, 'unavailable');
    expect(gone.problem).toMatch(/^The world with(out)? limits ended \(SIGKILL\)/);
    expect(gone.problem).not.toContain('\n');
    expect(gone.worlds).not.toBeNull();
    await until('the end of the other', SOON_MS, () => worldsOf(process.pid).length === 0);
    await put(service, 'surge', true).expect(204);
    const again = await phase(stream, 'surge', START_MS);
    expect(again.problem).toBeNull();
    expect(worldsOf(process.pid)).toHaveLength(2);
  });

  it('ends the worlds some time after the last viewer has left, and keeps the figures', async () => {
    const service = await open({ startsWithViewer: false, lingerMs: 700 });
    const stream = await watch(service);
    await put(service, 'surge', true).expect(204);
    await phase(stream, 'surge', START_MS);
    await stream[Symbol.asyncDispose]();
    await until('their end', SOON_MS, () => worldsOf(process.pid).length === 0);
    const next = await watch(service);
    const { worlds, atMs } = await phase(next, 'idle');
    expect(atMs).toBeGreaterThan(600); // the run had begun when the viewer left
    expect(worlds!.left.total.sent).toBeGreaterThan(0);
    expect(next.room!.history!.left.samples.length).toBeGreaterThan(0);
  });

  it('ends worlds that no run needs, while a viewer watches, and a press starts them again', async () => {
    const service = await open({ idleMs: 300 });
    const stream = await watch(service);
    await until('worlds that are ready', START_MS, () => surgesOf(stream).some((tick) => tick.phase === 'ready'));
    await phase(stream, 'idle');
    await until('their end', SOON_MS, () => worldsOf(process.pid).length === 0);
    await put(service, 'surge', true).expect(204);
    await phase(stream, 'surge', START_MS); // a run is no idle time
    expect(worldsOf(process.pid)).toHaveLength(2);
  });

  it('counts in a Redis of the stage, in a database for each world, and shows when Redis goes away', async () => {
    const redis = await RedisServer.start();
    try {
      const service = await open({ times: { surge: 40_000, recovery: 20_000 } }, { url: async () => redis.url });
      const stream = await watch(service);
      await phase(stream, 'ready', START_MS);
      await put(service, 'worlds/left/limits', true).expect(204);
      await until('Redis decides', SOON_MS, () => decidersOf(stream) === 'redis redis');
      await put(service, 'surge', true).expect(204);
      await phase(stream, 'surge');
      await put(service, 'worlds/left/limits', true).expect(204);
      await until('served requests', SOON_MS, () => surgesOf(stream).at(-1)!.worlds!.left.total.served > 5);
      const client = new Redis(redis.url);
      const info = await client.info('keyspace');
      client.disconnect();
      expect(info).toMatch(/^db1:/m);
      expect(info).toMatch(/^db2:/m);
      expect(info).not.toMatch(/^db0:/m);
      await redis.stop();
      await until('the fallback', SOON_MS, () => decidersOf(stream) === 'fallback fallback');
      await until('answers', SOON_MS, () => surgesOf(stream).at(-1)!.worlds!.right.sample.served > 0);
    } finally {
      await redis.stop();
    }
  });

  it('leaves no process when the application closes while worlds start, or during a run', async () => {
    const starting = await open();
    const early = await watch(starting);
    await phase(early, 'starting');
    await until('processes', SOON_MS, () => worldsOf(process.pid).length === 2);
    expect(await closed(starting)).toBeLessThan(10_000);
    expect(worldsOf(process.pid)).toEqual([]);

    const running = await open();
    const stream = await watch(running);
    await put(running, 'surge', true).expect(204);
    await phase(stream, 'surge', START_MS);
    expect(await closed(running)).toBeLessThan(10_000);
    expect(worldsOf(process.pid)).toEqual([]);
  });

  it('ends within the grace after a SIGTERM during a run, and leaves no process', async () => {
    const GRACE_S = 2;
    await using service = await ServiceProcess.start('main', { SHUTDOWN_GRACE_SECONDS: `${GRACE_S}` });
    const stream = await watch(service);
    await put(service, 'surge', true).expect(204);
    await phase(stream, 'surge', START_MS);
    const worlds = worldsOf(service.pid);
    expect(worlds).toHaveLength(2);
    const { signal, afterMs } = await service.end('SIGTERM', 60_000);
    expect(signal).toBe('SIGTERM');
    expect(afterMs).toBeLessThan(1000 * GRACE_S + 6000);
    expect(worlds.filter(isAlive)).toEqual([]);
  });
});

/** Closes the application. @returns the milliseconds that it takes */
async function closed(service: Service): Promise<number> {
  const since = performance.now();
  services.splice(services.indexOf(service), 1);
  await service.app.close();
  return performance.now() - since;
}

function decidersOf(stream: LiveStream): string {
  const { worlds } = surgesOf(stream).at(-1)!;
  return IDS.map((id) => worlds?.[id].sample.decider).join(' ');
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function byNumber(a: number, b: number): number {
  return a - b;
}
