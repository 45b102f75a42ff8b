import { describe, expect, it } from '@jest/globals';
import { type ClientWait, rateLimitFetch } from './index.js';
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
    ['URLSearchParams', (url) => [url, { method: 'PATCH', body: new URLSearchParams({ field: 'payload' }) }]],
    ['a Blob', (url) => [url, { method: 'PUT', body: new Blob(['payload']) }]],
    ['a form', (url) => [url, { method: 'POST', body: form() }]],
    ['bytes', (url) => [url, { method: 'POST', body: new TextEncoder().encode('payload') }]],
    ['a buffer', (url) => [url, { method: 'POST', body: new TextEncoder().encode('payload').buffer }]],
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

  it('is used up as after fetch, when it is of a Request', async () => {
    await using world = await setUp([REJECTION]);
    const request = new Request(world.server.url, { method: 'POST', body: 'payload' });
    await world.time.run(world.limited(request));
    expect(request.bodyUsed).toBe(true);
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
  it('goes on where the call takes the signal off its request, as fetch does', async () => {
    await using world = await setUp([REJECTION]);
    const { time, server, limited } = world;
    const request = new Request(server.url, { signal: AbortSignal.abort() });
    expect((await time.run(limited(request, { signal: null }))).status).toBe(200);
  });

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

  it('that is aborted does not hold back the calls behind it', async () => {
    await using world = await setUp([{ headers: { RateLimit: '"a";r=0;t=3' } }]);
    const { time, server, limited } = world;
    await time.run(limited(server.url));
    const abort = new AbortController();
    const first = limited(server.url, { signal: abort.signal }).catch((error: unknown) => error);
    const second = limited(server.url);
    abort.abort(new Error('enough'));
    expect((await time.run(second)).status).toBe(200);
    expect(await first).toEqual(new Error('enough'));
    expect(server.seen.map(({ at }) => at)).toEqual([0, 3000]);
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
    [
      { maxWait: '60' },
      "maxWait must be a duration of whole milliseconds from 0 to '2147483647ms', as a number or as text with a unit, got '60'",
    ],
    [
      { maxWaitMs: 60 },
      "'maxWaitMs' is not an option. It is maxWait now, as in maxWait: '30s'; a number is still milliseconds.",
    ],
    [{ jitter: 2 }, 'jitter must be a number from 0 to 1, got 2'],
    [{ preemptive: 'yes' }, "preemptive must be true or false, got 'yes'"],
    [{ partition: 'origin' }, "partition must be a function, got 'origin'"],
    [{ fetch: 1 }, 'fetch must be a function, got 1'],
    [{ time: {} }, 'time must be an object with the functions now, wallNow and setTimer, got an object'],
  ])('%j are refused', (options, message) => {
    expect(() => rateLimitFetch(options)).toThrow(`rateLimitFetch: ${message}`);
  });
});
