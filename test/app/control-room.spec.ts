import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { MAX_VIEWERS_PER_PEER } from '../../libs/control-room/control-room.controller.js';
import { lanesOf } from '../../libs/control-room/lanes.js';
import type { PolicyTick, Tick, TrialResult } from '../../libs/control-room/live.js';
import { RoomApplication } from '../../libs/control-room/room-application.js';
import { Routes } from '../../src/limits/routes.js';
import { until } from '../support/faults/until.js';
import { RedisServer } from '../support/redis-server.js';
import { LiveStream } from './support/live-stream.js';
import { RIDE } from './support/requests.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

const ON = { RATE_LIMIT: 'on' };
const CONTROLS = [
  ['put', 'surge', { on: true }],
  ['put', 'worlds/left/limits', { on: true }],
  ['post', 'trials', { lane: 'rides', rider: 'rider-1', many: false }],
] as const;

/** The lane's policy at `index`, as a request of the rider finds it. */
function policyIn(tick: Tick, lane: string, rider = 'rider-1', index = 0): PolicyTick | null | undefined {
  return tick.lanes[lane]!.riders[rider]?.[index];
}

const services: Service[] = [];

afterEach(async () => {
  for (const { app } of services.splice(0)) await app.close();
});

describe.each(PLATFORMS)('the control room over %s', (platform) => {
  async function open(variables: Record<string, string> = ON): Promise<Service> {
    const service = await start(platform, variables);
    services.push(service);
    return service;
  }

  /** Sends a request like the page. */
  function control({ url }: Service, [method, path, body]: readonly ['put' | 'post', string, object]): request.Test {
    return request(url)[method](`/control-room/${path}`).set('X-Control-Room', '1').send(body);
  }

  it('is a self-contained page that loads nothing from other hosts', async () => {
    const { url } = await open();
    const page = await request(url).get('/').expect(200).expect('content-type', 'text/html; charset=utf-8');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    const links = Array.from(page.text.matchAll(/(?:href|src)="([^"#]+)"/g), ([, link]) => link!);
    expect(
      links.filter((link) => !link.startsWith('control-room/') && !link.startsWith('https://github.com/')),
    ).toEqual(['.', 'playground/', 'playground', 'docs']);
    expect(links.length).toBeGreaterThan(4);
    const files = new Set(links.filter((link) => link.startsWith('control-room/')));
    for (const file of files) {
      const response = await fetch(`${url}/${file}`);
      expect([file, response.status]).toEqual([file, 200]);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      for (const [, imported] of (await response.text()).matchAll(/^import .* from '\.\/([^']+)';$/gm)) {
        files.add(`control-room/files/${imported}`);
      }
    }
    expect([...files]).toEqual(expect.arrayContaining([expect.stringContaining('uplot.js')]));
  });

  it('serves its typeface itself, in less than 60 kB, for browsers to keep', async () => {
    const { url } = await open();
    const css = await (await fetch(`${url}/control-room/files/font.css`)).text();
    const [, name] = /url\('([^']+)'\)/.exec(css)!;
    const font = await fetch(`${url}/control-room/files/${name}`);
    const bytes = new Uint8Array(await font.arrayBuffer());
    expect(Buffer.from(bytes.subarray(0, 4)).toString()).toBe('wOF2');
    expect(bytes.length).toBeLessThan(60_000);
    expect(Object.fromEntries(font.headers)).toMatchObject({
      'content-type': 'font/woff2',
      'content-length': String(bytes.length),
      'cache-control': 'public, max-age=2592000',
    });
  });

  it.each(['nothing.js', '..%2f..%2fpackage.json', 'constructor', '__proto__', 'tsconfig.json', 'uplot.d.ts'])(
    'has no file %s',
    async (name) => {
      const { url } = await open();
      expect((await request(url).get(`/control-room/files/${name}`)).status).toBe(404);
    },
  );

  it('sends the room first, then one to four ticks per second', async () => {
    const service = await open();
    await using stream = await LiveStream.open(service.url);
    const rides: Promise<unknown>[] = [];
    const riding = setInterval(() => rides.push(request(service.url).post('/api/rides/request').send(RIDE).then()), 20);
    await delay(3000);
    clearInterval(riding);
    await Promise.all(rides);
    const [first, ...rest] = stream.events;
    expect(first).toMatchObject({
      type: 'room',
      data: { mode: 'on', riders: ['rider-1', 'rider-2'] },
    });
    expect(rest.every(({ type }) => type === 'tick')).toBe(true);
    expect(rest.length).toBeGreaterThanOrEqual(3);
    const seconds = (rest.at(-1)!.atMs - first!.atMs) / 1000;
    expect(rest.length).toBeLessThanOrEqual(4 * seconds + 1);
    expect(stream.ticks.at(-1)!.lanes['rides']).toMatchObject({ passed: expect.any(Number) });
    expect(stream.ticks.at(-1)!.lanes['rides']!.passed).toBeGreaterThan(0);
  });

  it('has a lane for every limited route, with its policies', async () => {
    const { app } = await open();
    const routes = app.get(Routes, { strict: false });
    const lanes = lanesOf(app.get(RoomApplication, { strict: false }));
    expect(lanes.map(({ description: { method, path } }) => `${method} ${path}`)).toEqual([
      'POST /api/rides/request',
      'POST /api/fares/estimate',
      'GET /api/drivers/nearby',
      'POST /api/drivers/location',
      'GET /api/trips/history',
      'GET /api/admin/zones/stats',
      'PUT /api/admin/zones/:zone/surge',
    ]);
    const kinds = lanes.map(({ description: { row, policies } }) => [
      row,
      policies.map(({ name, algorithm, shared }) => [name, algorithm, shared]),
    ]);
    // A row draws the policies of its lanes in one picture.
    for (const [row, kind] of kinds) expect(kinds.find(([other]) => other === row)![1]).toEqual(kind);
    expect(new Set(kinds.map(([row]) => row)).size).toBe(5);
    for (const { description, route } of lanes) {
      const decision = await routes.peek(route, { kind: 'user', value: 'anybody' });
      const real = decision.policies.map(({ policy: name, algorithm, limit, priority }) => {
        // Estimates may fill half of the limit: a decision has their part, and a lane the policy.
        return { name, algorithm, limit: priority === 'estimates' ? 2 * limit : limit };
      });
      expect(description.policies.length).toBe(real.length);
      for (const policy of real) expect(description.policies).toContainEqual(expect.objectContaining(policy));
    }
  });

  it('sends requests, returns their outcome, and shows their charges in the lane', async () => {
    const service = await open();
    await using stream = await LiveStream.open(service.url);
    const one = await control(service, ['post', 'trials', { lane: 'surge', rider: 'rider-1', many: false }]).expect(
      200,
    );
    expect(one.body).toEqual({
      statuses: { 200: 1 },
      refusals: {},
      answer: {
        status: 200,
        headers: { 'x-ratelimit-limit': '5', 'x-ratelimit-remaining': '4', 'x-ratelimit-reset': expect.any(String) },
        text: expect.stringContaining('surge_factor'),
        policy: null,
        retryAfterMs: null,
        resetAfterMs: expect.any(Number),
      },
      tookMs: expect.any(Number),
    });
    await control(service, ['post', 'trials', { lane: 'surge', rider: 'rider-1', many: true }]).expect(200);
    const last = (await control(service, ['post', 'trials', { lane: 'surge', rider: 'rider-1', many: true }]))
      .body as TrialResult;
    expect(last.statuses).toEqual({ 200: 1, 429: 2 });
    expect(last.refusals).toEqual({ default: 2 });
    expect(last.answer).toMatchObject({
      status: 429,
      headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
      policy: 'default',
    });
    const { headers, retryAfterMs, resetAfterMs } = last.answer;
    expect(Math.ceil(retryAfterMs! / 1000)).toBe(Number(headers['retry-after']));
    expect(resetAfterMs).toBeGreaterThan(50_000); // a window of a minute
    expect(resetAfterMs).toBeLessThanOrEqual(61_000);
    const tick = await until('five marks', 3000, () =>
      stream.ticks.find((shown) => {
        const { state } = policyIn(shown, 'surge') ?? {};
        return state?.algorithm === 'sliding-window-log' && state.marks.length === 5;
      }),
    );
    expect(tick.lanes['surge']).toMatchObject({ passed: 5, rejected: 2 });
    for (const lane of ['rides', 'fares', 'nearby', 'location', 'history', 'stats']) {
      const { body } = await control(service, ['post', 'trials', { lane, rider: 'rider-1', many: false }]).expect(200);
      expect([lane, (body as TrialResult).statuses]).toEqual([lane, { 200: 1 }]);
    }
    await control(service, ['post', 'trials', { lane: 'rides', rider: 'somebody', many: true }]).expect(400);
    await control(service, ['post', 'trials', { lane: 'other', rider: 'rider-1', many: true }]).expect(400);
  });

  it.each(CONTROLS)('rejects %s %s in production, and says how to enable it', async (...what) => {
    const service = await open({ ...ON, NODE_ENV: 'production' });
    const { body } = await control(service, what).expect(403);
    expect(body).toEqual({
      statusCode: 403,
      error: 'control_room_watches',
      message: expect.stringContaining('CONTROL_ROOM=on'),
    });
    await using stream = await LiveStream.open(service.url);
    await until('a tick', 2000, () => stream.ticks[0]);
    expect(stream.room!.mode).toBe('watch');
    expect(stream.room).toMatchObject({ surge: null, history: { worlds: null } });
    expect(stream.ticks[0]).toMatchObject({ enforced: true, surge: null });
  });

  it.each(CONTROLS)('rejects %s %s of another page', async (method, path, body) => {
    const service = await open();
    await request(service.url)[method](`/control-room/${path}`).send(body).expect(403);
    const foreign = await control(service, [method, path, body]).set('Sec-Fetch-Site', 'cross-site').expect(403);
    expect(foreign.body.error).toBe('cross_origin');
    const asked = await request(service.url)
      .options(`/control-room/${path}`)
      .set('Origin', 'https://elsewhere.example')
      .set('Access-Control-Request-Method', method.toUpperCase())
      .set('Access-Control-Request-Headers', 'x-control-room');
    expect(asked.headers['access-control-allow-origin']).toBeUndefined();
  });

  it('works in production with CONTROL_ROOM=on, and is absent with CONTROL_ROOM=off', async () => {
    const enabled = await open({ ...ON, NODE_ENV: 'production', CONTROL_ROOM: 'on' });
    expect((await control(enabled, ['put', 'surge', { on: false }])).status).toBe(204);
    const { url } = await open({ ...ON, CONTROL_ROOM: 'off' });
    for (const path of ['/', '/control-room/events', '/control-room/files/main.js']) {
      expect((await request(url).get(path)).status).toBe(404);
    }
  });

  it('is never limited', async () => {
    const { url } = await open();
    for (let i = 0; i < 100; i++) {
      const { status, headers } = await request(url).get('/').set('X-User-Id', 'ada');
      expect([status, headers['x-ratelimit-limit']]).toEqual([200, undefined]);
    }
  });

  it('limits the viewers of one address, and admits another when one has left', async () => {
    const { url } = await open();
    const streams = await Promise.all(Array.from({ length: MAX_VIEWERS_PER_PEER }, () => LiveStream.open(url)));
    try {
      await expect(LiveStream.open(url)).rejects.toThrow('429');
      await streams.pop()![Symbol.asyncDispose]();
      streams.push(await until('a free place', 2000, () => LiveStream.open(url)));
    } finally {
      await Promise.all(streams.map((stream) => stream[Symbol.asyncDispose]()));
    }
  });

  it('ends its streams at once when the application closes', async () => {
    const service = await open();
    const stream = await LiveStream.open(service.url);
    await until('a tick', 5000, () => stream.ticks[0]);
    const since = performance.now();
    services.splice(0);
    await service.app.close();
    await stream.end;
    expect(performance.now() - since).toBeLessThan(5000);
  });

  it('shows one shared state in every process, and the fallback while Redis is unavailable', async () => {
    const redis = await RedisServer.start();
    try {
      const variables = { ...ON, REDIS_URL: redis.url };
      const [one, other] = [await open(variables), await open(variables)];
      await using stream = await LiveStream.open(other.url);
      await control(one, ['post', 'trials', { lane: 'stats', rider: 'rider-1', many: true }]).expect(200);
      const seen = await until('the count', 3000, () =>
        stream.ticks.find((shown) => {
          const { state } = policyIn(shown, 'stats') ?? {};
          return state?.algorithm === 'fixed-window' && state.used === 20;
        }),
      );
      expect(seen).toMatchObject({ decider: 'redis', lanes: { stats: { passed: 0 } } });
    } finally {
      await redis.stop();
    }
    const other = services.at(-1)!;
    await using stream = await LiveStream.open(other.url);
    await until('the fallback', 5000, () => stream.ticks.at(-1)?.decider === 'fallback');
    const { riders } = stream.ticks.at(-1)!.lanes['rides']!;
    expect(Object.keys(riders)).toEqual(['rider-1', 'rider-2']);
    for (const policies of Object.values(riders)) expect(policies).toHaveLength(2);
  });
});
