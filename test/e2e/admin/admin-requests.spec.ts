import { describe, expect, it, jest } from '@jest/globals';
import { RateLimitOverrides } from 'nestjs-floodgate';
import { PLATFORMS } from '../../support/http-app.js';
import { ADA, ask, LIMITS, serve } from '../support/admin-service.js';

jest.setTimeout(20_000);

describe.each(PLATFORMS)('the endpoints over %s', (platform) => {
  const TARGET = { policy: 'daily', identity: ADA };
  const RIGHT = { ...TARGET, change: { limit: 3 } };

  it.each<[status: number, request: string, body: unknown, message: string]>([
    [400, 'POST explain', undefined, 'The body: must be a JSON object (Content-Type: application/json), got'],
    [400, 'POST explain', [], 'must be a JSON object (Content-Type: application/json), got an array'],
    [400, 'POST explain', {}, "identity must be { kind, value } or a tag such as 'user:rider-1', got undefined"],
    [400, 'POST explain', { identity: 'ada' }, "such as 'user:rider-1', got 'ada'"],
    [400, 'POST explain', { identity: { kind: 'User', value: 'a' } }, 'its kind must be 1 to 16 of a-z'],
    [400, 'POST explain', { identity: { kind: 'user', value: 7.5 } }, 'its value must be a string'],
    [400, 'POST explain', { identity: ADA, ruote: 'x' }, "'ruote' is not an option. Did you mean route?"],
    [400, 'POST explain', { identity: ADA, route: 7 }, 'route must be text of 1 to 1024 characters, got 7'],
    [400, 'POST explain', { identity: ADA, plan: 'pro' }, 'plan has no effect'],
    [400, 'POST explain', { identity: ADA, plan: {} }, 'plan must be the name of a plan'],
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
    [400, 'POST reset', { policy: 'daily' }, 'identity must be'],
    [404, 'POST reset', { identity: ADA, policy: 'dialy' }, "there is no policy named 'dialy'. Did you mean 'daily'?"],
    [404, 'POST reset', { identity: ADA, route: 'GET /' }, "there is no route named 'GET /'"],
    [400, 'PUT overrides', TARGET, 'change is missing'],
    [400, 'PUT overrides', { ...RIGHT, identity: undefined }, "identity is missing: policy 'daily' counts each client"],
    [400, 'PUT overrides', { ...RIGHT, policy: undefined }, 'policy must be text of 1 to 64 characters'],
    [400, 'PUT overrides', { ...RIGHT, policy: 7 }, 'policy must be text of 1 to 64 characters in one line, got 7'],
    [404, 'PUT overrides', { ...RIGHT, policy: 'dialy' }, "there is no policy named 'dialy'. Did you mean 'daily'?"],
    [400, 'PUT overrides', { ...RIGHT, scope: 'GET /' }, "policy 'daily' has no scope 'GET /'"],
    [400, 'PUT overrides', { ...RIGHT, change: { limit: 0 } }, 'limit must be a whole number from 1'],
    [400, 'PUT overrides', { ...RIGHT, change: { limit: '5' } }, "got '5'"],
    [400, 'PUT overrides', { ...RIGHT, change: { capacity: 5 } }, "'capacity' is not an option of fixed-window"],
    [400, 'PUT overrides', { ...RIGHT, change: {} }, 'the numbers must be an object with some of those in'],
    [400, 'PUT overrides', { ...RIGHT, change: 'exempt' }, 'a change must be an object such as { capacity: 100 }'],
    [
      400,
      'PUT overrides',
      { ...RIGHT, change: { exempt: true, limit: 3 } },
      'a change must be numbers, { exempt: true }',
    ],
    [
      400,
      'PUT overrides',
      { ...RIGHT, expiresIn: 'soon' },
      "expiresIn must be milliseconds or a duration such as '24h'",
    ],
    [400, 'PUT overrides', { ...RIGHT, ifVersion: -1 }, 'ifVersion must be a whole number from 0, got -1'],
    [400, 'PUT overrides', { ...RIGHT, reason: 'x'.repeat(501) }, 'reason must be text of up to 500 characters'],
    [400, 'PUT overrides', { ...RIGHT, author: 7 }, 'author must be text of up to 100 characters, got 7'],
    [400, 'PUT overrides', '{"policy":"daily","__proto__":{"identity":"user:a"}}', ''],
    [400, 'PUT overrides', '{', ''],
    [400, 'POST overrides/find', { policy: 'daily', change: {} }, "'change' is not an option"],
    [400, 'POST overrides/remove', { ...TARGET, expiresIn: '1h' }, "'expiresIn' is not an option"],
    [400, 'POST overrides/history', { ...TARGET, limit: 0 }, 'limit must be a whole number from 1 to 1000, got 0'],
    [400, 'GET overrides?limit=1001', undefined, 'limit must be a whole number from 1 to 1000, got 1001'],
    [400, 'GET overrides?limit=many', undefined, "limit must be a whole number from 1 to 1000, got 'many'"],
    [400, 'GET overrides?limit=1&limit=2', undefined, 'The query: limit must be given once'],
    [400, 'GET overrides?cursor=x', undefined, "cursor must be the cursor of a page, got 'x'"],
    ...['0', '00', '-1', '', '1.5', '1e3', ' 7', '9007199254740993', '99999999999999999999'].flatMap(
      (cursor): [number, string, unknown, string][] => {
        const problem = `cursor must be the cursor of a page, got '${cursor}'`;
        return [
          [400, `GET overrides?cursor=${encodeURIComponent(cursor)}`, undefined, problem],
          [400, `GET overrides/history?cursor=${encodeURIComponent(cursor)}`, undefined, problem],
          [400, 'POST overrides/history', { ...TARGET, cursor }, problem],
        ];
      },
    ),
    [400, 'POST overrides/history', { ...TARGET, cursor: 5 }, 'cursor must be the cursor of a page, got 5'],
    [400, 'GET overrides?page=2', undefined, "'page' is not an option"],
    [400, 'GET overrides/history?limit=', undefined, 'limit must be a whole number'],
    [400, 'GET table?limited=yes', undefined, "limited must be true or false, got 'yes'"],
  ])('answer %i to %s with %j, and say what would be right', async (status, request, body, message) => {
    await using http = await serve(platform);
    const [method, path] = request.split(' ') as [string, string];
    const answer = await ask(http, method, `${LIMITS}/${path}`, body);
    expect(answer).toMatchObject({ status, body: { statusCode: status, message: expect.stringContaining(message) } });
    // Neither where in our code, nor the link for developers.
    expect(answer.body.message).not.toMatch(/RateLimitOverrides|RateLimiter\.|https:/);
    expect((await http.app.get(RateLimitOverrides).list()).items).toEqual([]);
    expect(http.logs.text).not.toContain('ada-lovelace');
  });
});
