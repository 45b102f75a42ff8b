import { afterEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { until } from '../support/faults/until.js';
import { LiveStream } from './support/live-stream.js';
import { type Service, start } from './support/start-app.js';

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

describe('the control room', () => {
  async function open(variables: Record<string, string> = ON): Promise<Service> {
    const service = await start(variables);
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
    expect([...files]).toEqual(expect.arrayContaining([expect.stringContaining('run-picture.js')]));
  });

  it.each(['nothing.js', '..%2f..%2fpackage.json', 'constructor', '__proto__', 'tsconfig.json', 'libs~nothing.js'])(
    'has no file %s',
    async (name) => {
      const { url } = await open();
      expect((await request(url).get(`/control-room/files/${name}`)).status).toBe(404);
    },
  );

  it.each(CONTROLS)('rejects %s %s in production, and says how to enable it', async (...what) => {
    const service = await open({ ...ON, NODE_ENV: 'production' });
    const { body } = await control(service, what).expect(403);
    expect(body).toEqual({
      statusCode: 403,
      error: 'control_room_watches',
      message: expect.stringContaining('CONTROL_ROOM=on'),
    });
    await using stream = await LiveStream.open(service.url);
    await until('a tick', 10_000, () => stream.ticks[0]);
    expect(stream.room!.mode).toBe('watch');
    expect(stream.room).toEqual({ mode: 'watch', surge: null, pods: null, history: null });
    expect(stream.ticks[0]).toEqual({ surge: null, pods: null });
  });

  it('works in production with CONTROL_ROOM=on, and is absent with CONTROL_ROOM=off', async () => {
    const enabled = await open({ ...ON, NODE_ENV: 'production', CONTROL_ROOM: 'on' });
    expect((await control(enabled, ['put', 'surge', { on: false }])).status).toBe(204);
    const { url } = await open({ ...ON, CONTROL_ROOM: 'off' });
    for (const path of ['/', '/control-room/events', '/control-room/files/main.js']) {
      expect((await request(url).get(path)).status).toBe(404);
    }
  });
});
