import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RateLimitOverrides } from 'nestjs-floodgate';
import type { HttpApp } from '../../support/http-app.js';
import { ADA, ask, LIMITS, serve } from '../support/admin-service.js';

describe('the endpoints', () => {
  let http: HttpApp;
  beforeAll(async () => {
    http = await serve('Express');
  });
  afterAll(() => http.close());

  const TARGET = { policy: 'daily', identity: ADA };
  const RIGHT = { ...TARGET, change: { limit: 3 } };

  it.each<[status: number, request: string, body: unknown, message: string]>([
    [400, 'POST explain', undefined, 'The body: must be a JSON object (Content-Type: application/json), got'],
    [400, 'POST explain', {}, "identity must be { kind, value } or a tag such as 'user:rider-1', got undefined"],
    [400, 'POST explain', { identity: 'ada' }, "such as 'user:rider-1', got a text of 3 bytes"],
    [400, 'POST explain', { identity: ADA, ruote: 'x' }, "'ruote' is not an option. Did you mean route?"],
    [400, 'POST explain', { identity: ADA, plan: 'pro' }, 'plan has no effect'],
    [
      404,
      'POST explain',
      { identity: ADA, route: 'POST /ridse' },
      "there is no route named 'POST /ridse'. Did you mean 'POST /rides'?",
    ],
    [
      400,
      'POST reset',
      { identity: ADA },
      "give either route, such as 'POST /rides', or the name of a policy, got neither",
    ],
    [400, 'POST reset', { identity: ADA, route: 'a', policy: 'b' }, 'got both'],
    [404, 'POST reset', { identity: ADA, route: 'GET /' }, "there is no route named 'GET /'"],
    [400, 'PUT overrides', TARGET, 'change is missing'],
    [400, 'PUT overrides', { ...RIGHT, identity: undefined }, "identity is missing: policy 'daily' counts each client"],
    [404, 'PUT overrides', { ...RIGHT, policy: 'dialy' }, "there is no policy named 'dialy'. Did you mean 'daily'?"],
    [400, 'PUT overrides', { ...RIGHT, scope: 'GET /' }, "policy 'daily' has no scope 'GET /'"],
    [400, 'PUT overrides', { ...RIGHT, change: { limit: -1 } }, 'limit must be a whole number from 0'],
    [400, 'PUT overrides', { ...RIGHT, change: { capacity: 5 } }, "'capacity' is not an option of fixed-window"],
    [
      400,
      'PUT overrides',
      { ...RIGHT, expiresIn: 'soon' },
      "expiresIn must be milliseconds or a duration such as '24h'",
    ],
    [400, 'PUT overrides', { ...RIGHT, reason: 'x'.repeat(501) }, 'reason must be text of up to 500 characters'],
    [400, 'PUT overrides', '{"policy":"daily","__proto__":{"identity":"user:a"}}', ''],
    [400, 'POST overrides/remove', { ...TARGET, expiresIn: '1h' }, "'expiresIn' is not an option"],
    [400, 'POST overrides/history', { ...TARGET, limit: 0 }, 'limit must be a whole number from 1 to 1000, got 0'],
    [400, 'GET overrides?limit=1&limit=2', undefined, 'The query: limit must be given once'],
    ...['0', '', '1e3', '9007199254740993'].flatMap((cursor): [number, string, unknown, string][] => {
      const problem = `cursor must be the cursor of a page, got '${cursor}'`;
      return [
        [400, `GET overrides?cursor=${encodeURIComponent(cursor)}`, undefined, problem],
        [400, `GET overrides/history?cursor=${encodeURIComponent(cursor)}`, undefined, problem],
        [400, 'POST overrides/history', { ...TARGET, cursor }, problem],
      ];
    }),
    [400, 'GET overrides?page=2', undefined, "'page' is not an option"],
    [400, 'GET table?limited=yes', undefined, "limited must be true or false, got 'yes'"],
  ])('answer %i to %s with %j, and say what would be right', async (status, request, body, message) => {
    const [method, path] = request.split(' ') as [string, string];
    const answer = await ask(http, method, `${LIMITS}/${path}`, body);
    expect(answer).toMatchObject({ status, body: { statusCode: status, message: expect.stringContaining(message) } });
    // Neither where in our code, nor the link for developers.
    expect(answer.body.message).not.toMatch(/RateLimitOverrides|RateLimiter\.|https:/);
    expect((await http.app.get(RateLimitOverrides).list()).items).toEqual([]);
    expect(http.logs.text).not.toContain('ada-lovelace');
  });
});
