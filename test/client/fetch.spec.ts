import { describe, expect, it } from '@jest/globals';
import {
  type ClientWait,
  rateLimitFetch,
  type RateLimitFetchOptions,
  RateLimitWaitError,
} from 'nestjs-floodgate/client';
import { type Scripted, ScriptedServer } from './support/scripted-server.js';
import { VirtualTime } from './support/virtual-time.js';

const DAY_MS = 24 * 3_600_000;
const DATE = 'Sun, 22 Nov 2026 08:49:37 GMT';
const IN_5S = 'Sun, 22 Nov 2026 08:49:42 GMT';
const REJECTION = { status: 429, headers: { 'Retry-After': '2' } };

/** A server with these answers, and a fetch on a clock that stands still while requests are on the way. */
async function setUp(answers: readonly Scripted[], options: RateLimitFetchOptions = {}) {
  const time = new VirtualTime();
  const server = await ScriptedServer.start(answers, time.now);
  const limited = rateLimitFetch({ time, random: () => 0, fetch: time.fetch, ...options });
  return { time, server, limited, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

describe('a rejection', () => {
  it.each<{ from: string; answer: Scripted; ms: number }>([
    { from: 'Retry-After in seconds', answer: REJECTION, ms: 2000 },
    {
      from: 'Retry-After as a date, by the clock of the server',
      answer: { status: 429, headers: { Date: DATE, 'Retry-After': IN_5S } },
      ms: 5000,
    },
    { from: 'the milliseconds of the body', answer: { ...REJECTION, body: { retry_after_ms: 1234.5 } }, ms: 1235 },
    { from: 'the body alone', answer: { status: 429, body: { retry_after_ms: 70 } }, ms: 70 },
    {
      from: 'the milliseconds of problem details',
      answer: {
        status: 429,
        headers: { 'Retry-After': '1', 'Content-Type': 'application/problem+json' },
        body: { 'retry-after-ms': 400 },
      },
      ms: 400,
    },
    {
      from: 'the header, when the body asks for more',
      answer: { ...REJECTION, body: { retry_after_ms: 9000 } },
      ms: 2000,
    },
    {
      from: 'the header, when the body asks for far less',
      answer: { ...REJECTION, body: { retry_after_ms: 1 } },
      ms: 2000,
    },
    { from: 'the header, when the body is no JSON', answer: { ...REJECTION, body: 'no' }, ms: 2000 },
    {
      from: 'Retry-After, which comes before RateLimit',
      answer: { status: 429, headers: { 'Retry-After': '2', RateLimit: '"a";r=0;t=9' } },
      ms: 2000,
    },
    {
      from: 'the longest t of RateLimit without Retry-After',
      answer: { status: 429, headers: { RateLimit: '"a";r=0;t=3, "b";r=0;t=7, "c";r=4;t=99' } },
      ms: 7000,
    },
    {
      from: 'X-RateLimit-Reset in Unix seconds',
      answer: {
        status: 429,
        headers: { Date: DATE, 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(Date.parse(IN_5S) / 1000) },
      },
      ms: 5000,
    },
    {
      from: 'X-RateLimit-Reset in seconds from now',
      answer: { status: 429, headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '4' } },
      ms: 4000,
    },
    { from: 'a 503 with Retry-After', answer: { status: 503, headers: { 'Retry-After': '3' } }, ms: 3000 },
    { from: 'Retry-After: 0', answer: { status: 429, headers: { 'Retry-After': '0' } }, ms: 0 },
  ])('is retried after the time of $from', async ({ answer, ms }) => {
    await using world = await setUp([answer]);
    const { time, server, limited } = world;
    const response = await time.run(limited(server.url));
    expect(response.status).toBe(200);
    expect(server.seen.map(({ at }) => at)).toEqual([0, ms]);
    expect(time.timers).toBe(0);
  });

  it('is never retried early, and at most the jitter late', async () => {
    for (const [share, ms] of [
      [0, 2000],
      [0.5, 2100],
      [0.999, 2200],
    ] as const) {
      await using world = await setUp([REJECTION], { random: () => share });
      await world.time.run(world.limited(world.server.url));
      expect(world.server.seen[1]!.at).toBe(ms);
    }
  });

  it('in a row doubles the spread, beginning with the whole wait', async () => {
    await using world = await setUp([REJECTION, REJECTION, REJECTION], { random: () => 0.5 });
    const { time, server, limited } = world;
    expect((await time.run(limited(server.url))).status).toBe(200);
    const times = server.seen.map(({ at }) => at);
    expect(times.map((at, i) => at - (times[i - 1] ?? 0))).toEqual([0, 2100, 3000, 4000]);
  });

  it.each<{ why: string; answers: readonly Scripted[]; init?: RequestInit; options?: RateLimitFetchOptions }>([
    { why: 'says that the request never passes', answers: [{ status: 429, body: { retry_after_ms: null } }] },
    { why: 'does not say when', answers: [{ status: 429 }] },
    { why: 'says nonsense', answers: [{ status: 429, headers: { 'Retry-After': 'soon' } }] },
    { why: 'is a 503 that does not say when', answers: [{ status: 503, headers: { RateLimit: '"a";r=0;t=1' } }] },
    {
      why: 'is a 503 to a POST',
      answers: [{ status: 503, headers: { 'Retry-After': '1' } }],
      init: { method: 'POST' },
    },
    { why: 'is another status', answers: [{ status: 500, headers: { 'Retry-After': '1' } }] },
    { why: 'asks for more than maxWaitMs', answers: [{ status: 429, headers: { 'Retry-After': '61' } }] },
    { why: 'is the last of maxAttempts', answers: [REJECTION], options: { maxAttempts: 1 } },
  ])('is the response to the caller at once when it $why', async ({ answers, init, options }) => {
    await using world = await setUp(answers, options);
    const { time, server, limited } = world;
    const response = await time.run(limited(server.url, init));
    expect(response.status).toBe(answers[0]!.status);
    expect(time.now()).toBe(0);
    expect(server.seen).toHaveLength(1);
  });

  it('reaches the caller with its body once the attempts are used up', async () => {
    const body = { error: 'rate_limit_exceeded', retry_after_ms: 900 };
    const rejection = { status: 429, headers: { 'Retry-After': '1' }, body };
    await using world = await setUp(
      Array.from({ length: 9 }, (): Scripted => rejection),
      { maxAttempts: 3 },
    );
    const response = await world.time.run(world.limited(world.server.url));
    expect(response.status).toBe(429);
    expect(await response.json()).toEqual(body);
    expect(world.server.seen).toHaveLength(3);
  });

  it('reaches the caller once the waiting time is used up, all waits together', async () => {
    await using world = await setUp(
      Array.from({ length: 9 }, (): Scripted => REJECTION),
      { maxAttempts: 100, maxWaitMs: 5000 },
    );
    const response = await world.time.run(world.limited(world.server.url));
    expect(response.status).toBe(429);
    expect(world.server.seen.map(({ at }) => at)).toEqual([0, 2000, 4000]);
    expect(world.time.now()).toBe(4000);
  });

  it('of a 503 to a POST is retried with retryUnsafeOn503', async () => {
    const answer = { status: 503, headers: { 'Retry-After': '1' } };
    await using world = await setUp([answer], { retryUnsafeOn503: true });
    const response = await world.time.run(world.limited(world.server.url, { method: 'POST', body: 'x' }));
    expect(response.status).toBe(200);
    expect(world.server.seen.map(({ body }) => body)).toEqual(['x', 'x']);
  });
});

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

describe('the body of a rejection', () => {
  const rejecting = (body: ReadableStream<Uint8Array>, time: VirtualTime): typeof fetch =>
    rateLimitFetch({
      time,
      maxAttempts: 1,
      fetch: () =>
        Promise.resolve(
          new Response(body, { status: 429, headers: { 'Content-Type': 'application/json', 'Retry-After': '1' } }),
        ),
    });

  it('is read for a second at most', async () => {
    const time = new VirtualTime();
    const endless = new ReadableStream<Uint8Array>({
      start: (stream) => stream.enqueue(new TextEncoder().encode('{')),
    });
    const response = await time.run(rejecting(endless, time)('http://localhost/'));
    expect(response.status).toBe(429);
    expect(time.now()).toBe(1000);
    const read = await response.body!.getReader().read();
    expect(new TextDecoder().decode(read.value)).toBe('{');
  });

  it('is read up to 16 KiB, and reaches the caller whole', async () => {
    const time = new VirtualTime();
    let pulled = 0;
    const large = new ReadableStream<Uint8Array>({
      pull: (stream) => {
        stream.enqueue(new Uint8Array(1024).fill(32));
        if (++pulled === 1000) stream.close();
      },
    });
    const response = await time.run(rejecting(large, time)('http://localhost/'));
    expect(pulled).toBeLessThan(20);
    expect((await response.arrayBuffer()).byteLength).toBe(1000 * 1024);
  });
});

describe('a response that leaves nothing', () => {
  const EMPTY = { headers: { RateLimit: '"a";r=0;t=3' } };

  it('makes the next call wait, and parallel calls leave one after the other', async () => {
    const left = (r: number): Scripted => ({ headers: { RateLimit: `"a";r=${r};t=3` } });
    await using world = await setUp([left(0), left(2), left(1), left(0), left(0)]);
    const { time, server, limited } = world;
    await time.run(limited(server.url));
    await time.run(Promise.all(Array.from({ length: 4 }, () => limited(server.url))));
    // One at 3 s, whose response lets two more go, and the last one after three seconds more.
    expect(server.seen.map(({ at }) => at)).toEqual([0, 3000, 3000, 3000, 6000]);
  });

  it.each<{ headers: Readonly<Record<string, string>>; ms: number }>([
    { headers: { RateLimit: '"a";r=5;t=9, "b";r=0;t=2' }, ms: 2000 },
    { headers: { RateLimit: '"a";r=0;t=1;pk=:YQ==:, "b";r=0;t=2' }, ms: 2000 },
    { headers: { RateLimit: '"a";r=0;t=2', 'RateLimit-Policy': '"a";q=9;qu="content-bytes";w=10' }, ms: 2000 },
    { headers: { RateLimit: '"a";r=1;t=60', 'RateLimit-Policy': '"a";q=9;qu="content-bytes"' }, ms: 0 },
    // Ten requests come back evenly in ten seconds.
    { headers: { 'X-RateLimit-Limit': '10', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '10' }, ms: 1000 },
    { headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '10' }, ms: 10_000 },
    { headers: { 'RateLimit-Remaining': '0', 'RateLimit-Reset': '10' }, ms: 10_000 },
    { headers: { RateLimit: 'limit=10, remaining=0, reset=10' }, ms: 0 },
    { headers: { RateLimit: '"a";r=0;t=2,' }, ms: 0 },
    { headers: { RateLimit: '"a";r=-1;t=2' }, ms: 0 },
    { headers: { RateLimit: '"a";r=1;t=30' }, ms: 0 },
  ])('$headers: the next call waits $ms ms', async ({ headers, ms }) => {
    await using world = await setUp([{ headers }]);
    const { time, server, limited } = world;
    await time.run(limited(server.url));
    await time.run(limited(server.url));
    expect(server.seen.map(({ at }) => at)).toEqual([0, ms]);
  });

  it.each<Scripted>([
    { status: 429, headers: { 'Retry-After': '1795339200' } }, // an instant in the place of seconds
    { headers: { RateLimit: '"a";r=0;t=999999999999999' } },
    { headers: { 'X-RateLimit-Limit': '0', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '9'.repeat(400) } },
  ])('is believed for a day, and then a request asks again: %j', async (answer) => {
    await using world = await setUp([answer], { maxWaitMs: 2 * DAY_MS });
    const { time, server, limited } = world;
    await time.run(limited(server.url));
    await time.run(limited(server.url));
    expect(server.seen.map(({ at }) => at)).toEqual([0, DAY_MS]);
  });

  it('holds back neither other paths, methods and credentials, nor a fetch with preemptive: false', async () => {
    for (const options of [{}, { preemptive: false }]) {
      await using world = await setUp([EMPTY], options);
      const { time, server, limited } = world;
      await time.run(limited(server.url));
      await time.run(limited(`${server.url}/other`));
      await time.run(limited(server.url, { method: 'POST' }));
      await time.run(limited(server.url, { headers: { Authorization: 'Bearer other' } }));
      if (options.preemptive === false) await time.run(limited(server.url));
      expect(time.now()).toBe(0);
    }
  });

  it('holds back what partition names alike', async () => {
    await using world = await setUp([EMPTY], { partition: ({ url }) => url.origin });
    const { time, server, limited } = world;
    await time.run(limited(server.url));
    await time.run(limited(`${server.url}/other`));
    expect(time.now()).toBe(3000);
  });

  it('for longer than maxWaitMs rejects the next call, which is not sent', async () => {
    await using world = await setUp([{ headers: { RateLimit: '"a";r=0;t=100' } }]);
    const { time, server, limited } = world;
    await time.run(limited(server.url));
    const error = await time.run(limited(`${server.url}?token=secret`).catch((thrown: unknown) => thrown));
    expect(error).toBeInstanceOf(RateLimitWaitError);
    expect(error).toMatchObject({ method: 'GET', target: server.url, retryAfterMs: 100_000 });
    expect((error as Error).message).toBe(
      `GET ${server.url} was not sent: its rate limit lets it pass in 100000 ms. Call again then, or raise maxWaitMs (60000)`,
    );
    expect(server.seen).toHaveLength(1);
    expect(time.now()).toBe(0);
  });

  it('rejects a call whose turn does not come within maxWaitMs', async () => {
    const answers = Array.from({ length: 9 }, (): Scripted => ({ headers: { RateLimit: '"a";r=0;t=3' } }));
    await using world = await setUp(answers, { maxWaitMs: 4000 });
    const { time, server, limited } = world;
    await time.run(limited(server.url));
    const [first, second] = await time.run(Promise.allSettled([limited(server.url), limited(server.url)]));
    expect(first).toMatchObject({ status: 'fulfilled' });
    expect(second).toMatchObject({ status: 'rejected', reason: { name: 'RateLimitWaitError', retryAfterMs: 3000 } });
    expect(server.seen.map(({ at }) => at)).toEqual([0, 3000]);
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
    [{ maxWaitMs: 2 ** 31 }, 'maxWaitMs must be a whole number of milliseconds from 0 to 2147483647, got 2147483648'],
    [{ maxWaitMs: '1m' }, "maxWaitMs must be a whole number of milliseconds from 0 to 2147483647, got '1m'"],
    [{ jitter: 2 }, 'jitter must be a number from 0 to 1, got 2'],
    [{ preemptive: 'yes' }, "preemptive must be true or false, got 'yes'"],
    [{ partition: 'origin' }, "partition must be a function, got 'origin'"],
    [{ fetch: 1 }, 'fetch must be a function, got 1'],
    [{ time: {} }, 'time must be an object with the functions now, wallNow and setTimer, got an object'],
  ])('%j are refused', (options, message) => {
    expect(() => rateLimitFetch(options)).toThrow(`rateLimitFetch: ${message}`);
  });
});
