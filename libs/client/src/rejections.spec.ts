import { describe, expect, it } from '@jest/globals';
import { rateLimitFetch, type RateLimitFetchOptions } from './index.js';
import { REJECTION, setUp } from '../test-support/scripted-fetch.js';
import type { Scripted } from '../test-support/scripted-server.js';
import { VirtualTime } from '../test-support/virtual-time.js';

describe('a rejection', () => {
  // What else says when: readers.spec.ts.
  it.each<{ from: string; answer: Scripted; ms: number }>([
    { from: 'Retry-After in seconds', answer: REJECTION, ms: 2000 },
    { from: 'the milliseconds of the body', answer: { ...REJECTION, body: { retry_after_ms: 1234.5 } }, ms: 1235 },
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
      from: 'the header, when the body asks for far less',
      answer: { ...REJECTION, body: { retry_after_ms: 1 } },
      ms: 2000,
    },
    { from: 'a 503 with Retry-After', answer: { status: 503, headers: { 'Retry-After': '3' } }, ms: 3000 },
  ])('is retried after the time of $from', async ({ answer, ms }) => {
    await using world = await setUp([answer]);
    const { time, server, limited } = world;
    const response = await time.run(limited(server.url));
    expect(response.status).toBe(200);
    expect(server.seen.map(({ at }) => at)).toEqual([0, ms]);
    expect(time.timers).toBe(0);
  });

  it.each<{ why: string; answers: readonly Scripted[]; init?: RequestInit; options?: RateLimitFetchOptions }>([
    { why: 'says that the request never passes', answers: [{ status: 429, body: { retry_after_ms: null } }] },
    { why: 'does not say when', answers: [{ status: 429 }] },
    {
      why: 'is a 503 to a POST',
      answers: [{ status: 503, headers: { 'Retry-After': '1' } }],
      init: { method: 'POST' },
    },
    { why: 'is another status', answers: [{ status: 500, headers: { 'Retry-After': '1' } }] },
    { why: 'asks for more than maxWait', answers: [{ status: 429, headers: { 'Retry-After': '61' } }] },
    { why: 'is the last of maxAttempts', answers: [REJECTION], options: { maxAttempts: 1 } },
  ])('is the response to the caller at once when it $why', async ({ answers, init, options }) => {
    await using world = await setUp(answers, options);
    const { time, server, limited } = world;
    const response = await time.run(limited(server.url, init));
    expect(response.status).toBe(answers[0]!.status);
    expect(time.now()).toBe(0);
    expect(server.seen).toHaveLength(1);
  });

  it('reaches the caller once the waiting time is used up, all waits together', async () => {
    await using world = await setUp(
      Array.from({ length: 9 }, (): Scripted => REJECTION),
      { maxAttempts: 100, maxWait: 5000 },
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
