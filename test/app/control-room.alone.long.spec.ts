import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { MAX_VIEWERS_PER_PEER } from '../../libs/control-room/control-room.controller.js';
import { until } from '../support/faults/until.js';
import { LiveStream } from './support/live-stream.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

const ON = { RATE_LIMIT: 'on' };
const CONTROLS = [
  ['put', 'surge', { on: true }],
  ['put', 'worlds/left/limits', { on: true }],
  ['post', 'pods/sends', {}],
] as const;

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
    const site = 'https://floodgate-nest.github.io/floodgate/';
    expect(links.filter((link) => !link.startsWith('control-room/'))).toEqual([
      '.',
      'playground/',
      `${site}docs`,
      `${site}installation`,
      'playground/',
      'docs',
    ]);
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
    expect([...files]).toEqual(expect.arrayContaining([expect.stringContaining('time-chart.js')]));
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

  it.each(['nothing.js', '..%2f..%2fpackage.json', 'constructor', '__proto__', 'tsconfig.json', 'libs~nothing.js'])(
    'has no file %s',
    async (name) => {
      const { url } = await open();
      expect((await request(url).get(`/control-room/files/${name}`)).status).toBe(404);
    },
  );

  it('sends the room first, then ticks: one a second while nothing changes', async () => {
    const service = await open();
    await using stream = await LiveStream.open(service.url);
    await delay(3500);
    const [first, ...rest] = stream.events;
    expect(first).toMatchObject({ type: 'room', data: { mode: 'on', surge: { seconds: 60 }, pods: { pods: 3 } } });
    expect(rest.every(({ type }) => type === 'tick')).toBe(true);
    expect(rest.length).toBeGreaterThanOrEqual(2);
    const seconds = (rest.at(-1)!.atMs - first!.atMs) / 1000;
    // One more is the change from nothing to the first tick.
    expect(rest.length).toBeLessThanOrEqual(seconds + 2);
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
    expect(stream.room).toEqual({ mode: 'watch', surge: null, pods: null, history: null });
    expect(stream.ticks[0]).toEqual({ surge: null, pods: null });
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
});
