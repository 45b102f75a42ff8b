import { describe, expect, it } from '@jest/globals';
import { RateLimitWaitError } from './index.js';
import { setUp } from '../test-support/scripted-fetch.js';
import type { Scripted } from '../test-support/scripted-server.js';

const DAY_MS = 24 * 3_600_000;

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
    // Ten requests come back evenly in ten seconds.
    { headers: { 'X-RateLimit-Limit': '10', 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '10' }, ms: 1000 },
    // Charges may be refunded at any time.
    { headers: { RateLimit: '"a";r=0;t=1;floodgate-estimated' }, ms: 1000 },
    { headers: { RateLimit: '"a";r=0;t=900;floodgate-estimated, "b";r=0;t=2' }, ms: 2000 },
    {
      headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '900', 'X-RateLimit-Estimated': 'true' },
      ms: 1000,
    },
    { headers: { RateLimit: 'limit=10, remaining=0, reset=10' }, ms: 0 },
    { headers: { RateLimit: '"a";r=0;t=2,' }, ms: 0 },
  ])('$headers: the next call waits $ms ms', async ({ headers, ms }) => {
    await using world = await setUp([{ headers }]);
    const { time, server, limited } = world;
    await time.run(limited(server.url));
    await time.run(limited(server.url));
    expect(server.seen.map(({ at }) => at)).toEqual([0, ms]);
  });

  it.each<Scripted>([
    { status: 429, headers: { 'Retry-After': '1795339200' } },
    // an instant in the place of seconds
    { headers: { RateLimit: '"a";r=0;t=999999999999999' } },
  ])('is believed for a day, and then a request asks again: %j', async (answer) => {
    await using world = await setUp([answer], { maxWait: 2 * DAY_MS });
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

  it('for longer than maxWait rejects the next call, which is not sent', async () => {
    await using world = await setUp([{ headers: { RateLimit: '"a";r=0;t=100' } }]);
    const { time, server, limited } = world;
    await time.run(limited(server.url));
    const error = await time.run(limited(`${server.url}?token=secret`).catch((thrown: unknown) => thrown));
    expect(error).toBeInstanceOf(RateLimitWaitError);
    expect(error).toMatchObject({ method: 'GET', target: server.url, retryAfterMs: 100_000 });
    expect((error as Error).message).toBe(
      `GET ${server.url} was not sent: its rate limit lets it pass in 100000 ms. Call again then, or raise maxWait (60000 ms)`,
    );
    expect(server.seen).toHaveLength(1);
    expect(time.now()).toBe(0);
  });
});
