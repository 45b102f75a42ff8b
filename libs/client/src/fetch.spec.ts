import { describe, expect, it } from '@jest/globals';
import { type ClientWait, rateLimitFetch } from './index.js';
import { nodeWarnings } from '../../../test/support/node-warnings.js';
import { REJECTION, setUp } from '../test-support/scripted-fetch.js';
import { ScriptedServer } from '../test-support/scripted-server.js';
import { VirtualTime } from '../test-support/virtual-time.js';

describe('the body of a request', () => {
  const form = (): FormData => {
    const data = new FormData();
    data.set('field', 'payload');
    return data;
  };
  it.each<[string, (url: string) => [string | Request, RequestInit?]]>([
    ['text', (url) => [url, { method: 'POST', body: 'payload' }]],
    ['a form', (url) => [url, { method: 'POST', body: form() }]],
    ['bytes', (url) => [url, { method: 'POST', body: new TextEncoder().encode('payload') }]],
    ['of a Request', (url) => [new Request(url, { method: 'POST', body: 'payload' })]],
    [
      'of a Request whose init has another',
      (url) => [new Request(url, { method: 'POST', body: 'a' }), { body: 'payload' }],
    ],
  ])('is sent again: %s', async (_, make) => {
    await using world = await setUp([REJECTION, REJECTION]);
    const [input, init] = make(world.server.url);
    const response = await world.time.run(world.limited(input, init));
    expect(response.status).toBe(200);
    expect(world.server.seen.map(({ body }) => body.includes('payload'))).toEqual([true, true, true]);
    expect(new Set(world.server.seen.map(({ method }) => method)).size).toBe(1);
  });

  it('is sent once when it is a stream: the caller gets the rejection', async () => {
    await using world = await setUp([REJECTION]);
    const stream = new Blob(['payload']).stream();
    const init = { method: 'POST', body: stream, duplex: 'half' } as RequestInit;
    const response = await world.time.run(world.limited(world.server.url, init));
    expect(response.status).toBe(429);
    expect(world.server.seen.map(({ body }) => body)).toEqual(['payload']);
  });
});

describe('a wait', () => {
  it.each(['init', 'Request'])('ends when the signal of the %s aborts, with its reason', async (where) => {
    await using world = await setUp([REJECTION]);
    const { time, server, limited } = world;
    const abort = new AbortController();
    const { signal } = abort;
    const call = where === 'init' ? limited(server.url, { signal }) : limited(new Request(server.url, { signal }));
    const ended = call.catch((error: unknown) => error);
    await time.advance(1000);
    const reason = new Error('enough');
    abort.abort(reason);
    expect(await ended).toBe(reason);
    expect(time.now()).toBe(1000);
    expect(time.timers).toBe(0);
    expect(server.seen).toHaveLength(1);
  });

  it('of many calls with one signal brings no warning of leaked listeners', async () => {
    await using world = await setUp([REJECTION]);
    const { time, server, limited } = world;
    const abort = new AbortController();
    const { signal } = abort;
    const warnings = nodeWarnings();
    const calls = Array.from({ length: 30 }, async () => limited(server.url, { signal }));
    await time.advance(1000);
    calls.push(...Array.from({ length: 30 }, async () => limited(server.url, { signal })));
    abort.abort();
    const ended = await Promise.allSettled(calls);
    expect(ended.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(30);
    expect(await warnings()).toEqual([]);
  });

  it('is told to onWait', async () => {
    const waits: ClientWait[] = [];
    await using world = await setUp([REJECTION], { onWait: (wait) => waits.push(wait) });
    const { time, server, limited } = world;
    await time.run(limited(server.url));
    expect(waits).toEqual([expect.objectContaining({ waitMs: 2000, attempt: 2, status: 429 })]);
    expect(waits[0]!.request).toMatchObject({ method: 'GET', url: new URL(server.url) });
  });
});

describe('what fetch itself answers', () => {
  it('is passed on: an error, and the next call is not held back', async () => {
    const time = new VirtualTime();
    const limited = rateLimitFetch({ time, fetch: time.fetch });
    const server = await ScriptedServer.start([]);
    await server[Symbol.asyncDispose]();
    for (let i = 0; i < 2; i++) await expect(limited(server.url)).rejects.toThrow('fetch failed');
    await expect(limited('no address')).rejects.toThrow('Failed to parse URL');
  });

  it('is passed on: a data: address', async () => {
    expect(await (await rateLimitFetch()('data:,text')).text()).toBe('text');
  });
});

describe('the options', () => {
  it.each<[object, string]>([
    [{ maxAttempt: 3 }, "'maxAttempt' is not an option. Did you mean maxAttempts?"],
    [{ maxAttempts: 0 }, 'maxAttempts must be a whole number from 1 to 100, got 0'],
    [
      { maxWait: 2 ** 31 },
      "maxWait must be a duration of whole milliseconds from 0 to '2147483647ms', as a number or as text with a unit, got 2147483648",
    ],
    [{ partition: 'origin' }, "partition must be a function, got 'origin'"],
    [{ time: {} }, 'time must be an object with the functions now, wallNow and setTimer, got an object'],
  ])('%j are refused', (options, message) => {
    expect(() => rateLimitFetch(options)).toThrow(`rateLimitFetch: ${message}`);
  });
});
