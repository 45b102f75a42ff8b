import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { HttpModule, HttpService } from '@nestjs/axios';
import { describe, expect, it, jest } from '@jest/globals';
import axios, {
  type AxiosError,
  type AxiosInstance,
  type CancelTokenSource,
  create,
  isAxiosError,
  isCancel,
} from 'axios';
import { rateLimitAxios } from 'floodgate-client';
import { createLimiter, limitedAxios, limitedFetch, type Policy, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { firstValueFrom } from 'rxjs';
import { type Scripted, ScriptedServer } from '../../../libs/client/test-support/scripted-server.js';
import { until } from '../../support/faults/until.js';
import { start } from '../../support/http-app.js';
import { unhandledRejections } from '../../support/node-warnings.js';
import { useRedis } from '../../support/redis-fixture.js';

// oxlint-disable-next-line import/no-named-as-default-member -- the named export is a type alone
const sourceOf = (): CancelTokenSource => axios.CancelToken.source();

const POLICIES = {
  partner: { algorithm: 'token-bucket', capacity: 100, refill: 100, by: 'global' },
  slots: { algorithm: 'concurrency', limit: 1, lease: '30s', by: 'global' },
} as const satisfies Record<string, Policy>;
const REJECTION: Scripted = { status: 429, headers: { 'Retry-After': '2' } };

const redis = useRedis();

interface Pod extends AsyncDisposable {
  readonly limiter: RateLimiter;
  readonly http: HttpService;
}

async function pod(): Promise<Pod> {
  const module = RateLimitModule.forRoot({ redis: redis.server.url, policies: POLICIES, deadline: '10s' });
  const started = await start('Express', { imports: [module, HttpModule.register({})] });
  const { app } = started;
  return {
    limiter: app.get(RateLimiter),
    http: app.get(HttpService),
    [Symbol.asyncDispose]: () => started[Symbol.asyncDispose](),
  };
}

interface World extends AsyncDisposable {
  readonly partner: ScriptedServer;
  readonly pods: readonly [Pod, Pod];
}

async function world(answers: readonly Scripted[]): Promise<World> {
  const partner = await ScriptedServer.start(answers);
  const pods = [await pod(), await pod()] as const;
  return {
    partner,
    pods,
    [Symbol.asyncDispose]: async () => {
      for (const one of [...pods, partner]) await one[Symbol.asyncDispose]();
    },
  };
}

const isPaused = async ({ limiter }: Pod): Promise<boolean> =>
  (await limiter.explain('partner', null)).policies[0]!.pausedUntil !== null;

describe('limitedFetch', () => {
  it("pauses the policy for all pods for the partner's Retry-After, and returns the 429", async () => {
    await using opened = await world([REJECTION]);
    const { partner, pods } = opened;
    const [first, second] = pods.map(({ limiter }) => limitedFetch(limiter, 'partner')) as [typeof fetch, typeof fetch];
    expect((await first(partner.url)).status).toBe(429);
    await until('the other pod pauses', 1_500, () => isPaused(pods[1]));
    const answers = await Promise.all([first(partner.url), second(partner.url), first(partner.url)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const [rejected, ...others] = partner.seen.map(({ at }) => at);
    for (const at of others) expect(at - rejected!).toBeGreaterThan(1_950);
  });

  it.each<[string, Scripted, number, number?]>([
    [
      'a date in Retry-After',
      {
        status: 503,
        headers: { 'Retry-After': 'Thu, 01 Jan 2026 00:00:05 GMT', Date: 'Thu, 01 Jan 2026 00:00:00 GMT' },
      },
      5_000,
    ],
    ['a wait beyond maxPause', { status: 429, headers: { 'Retry-After': '999999999' } }, 30_000],
    ['a second after a wait of 0', { status: 429, headers: { 'Retry-After': '0' } }, 1_000],
    [
      'a wait of thousands of years, where maxPause allows it',
      { status: 429, headers: { 'Retry-After': '99999999999' } },
      3_155_760_000_000,
      Number.MAX_SAFE_INTEGER,
    ],
    [
      'a wait of 400 digits in the fields',
      { headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '9'.repeat(400) } },
      3_155_760_000_000,
      Number.MAX_SAFE_INTEGER,
    ],
  ])('pauses for %s', async (_, answer, ms, maxPause = 30_000) => {
    await using partner = await ScriptedServer.start([answer]);
    await using started = await start('Express', { imports: [RateLimitModule.forRoot({ policies: POLICIES })] });
    const limiter = started.app.get(RateLimiter);
    const pause = jest.spyOn(limiter, 'pause');
    await limitedFetch(limiter, 'partner', { maxPause })(partner.url);
    expect(pause.mock.calls).toEqual([['partner', null, { for: ms }]]);
    await expect(pause.mock.results[0]!.value).resolves.toBe(true);
  });

  it('returns the answer where the pause fails, and nothing is left without a handler', async () => {
    await using partner = await ScriptedServer.start([REJECTION]);
    const pause = jest.fn(() => Promise.reject(new Error('no pause')));
    const limiter = {
      pause,
      schedule: (async (_policies: unknown, _identity: unknown, work: () => unknown) => work()) as never,
    };
    const unhandled = unhandledRejections();
    expect((await limitedFetch(limiter, 'partner')(partner.url)).status).toBe(429);
    expect(await unhandled()).toEqual([]);
    expect(pause).toHaveBeenCalledTimes(1);
  });

  it.each<[object, string]>([
    [{ fetch: 7 }, 'limitedFetch: fetch must be a function, got 7'],
    [{ maxWaits: 1 }, "limitedFetch: 'maxWaits' is not an option. Did you mean"],
    [{ maxWait: '5' }, "limitedFetch: maxWait must be a duration from 0, such as '5s', or Infinity, got '5'"],
    [{ cost: 0 }, 'limitedFetch: cost must be a whole number from 1, or a function of the result, got 0'],
    [{ identity: 'ada' }, 'limitedFetch: an identity: its kind must be'],
  ])('tells what is wrong with %j', async (options, problem) => {
    await using opened = await world([]);
    expect(() => limitedFetch(opened.pods[0].limiter, 'partner', options)).toThrow(problem);
  });

  it('tells that a limiter is not awaited', () => {
    const early = createLimiter() as unknown as RateLimiter;
    expect(() => limitedFetch(early, 'partner')).toThrow(
      'limitedFetch: takes a RateLimiter, which createLimiter returns, got a promise: await it',
    );
  });
});

/** How an open answer of a partner ends that is still being sent. */
type Ended = 'read' | 'cancelled' | 'broken';

/** A partner that sends the headers and the beginning of a body, and the rest when a test says so. */
async function streamingPartner() {
  const open: ServerResponse[] = [];
  const partner = createServer((_, response) => {
    open.push(response);
    response.write('begins');
  });
  await new Promise<void>((resolve) => partner.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(partner.address() as AddressInfo).port}/`;
  return {
    url,
    open,
    [Symbol.asyncDispose]: async () => {
      partner.closeAllConnections();
      await new Promise((resolve) => partner.close(resolve));
    },
  };
}

describe.each(['fetch', 'axios', 'axios by fetch', 'axios, an error'] as const)('over %s, a concurrency', (by) => {
  it.each<Ended>(['read', 'cancelled', 'broken'])('is held until a body that streams is %s', async (ended) => {
    await using partner = await streamingPartner();
    await using started = await start('Express', { imports: [RateLimitModule.forRoot({ policies: POLICIES })] });
    const limiter = started.app.get(RateLimiter);
    const free = async (): Promise<number> => (await limiter.peek('slots')).policies[0]!.remaining;
    let body: ReadableStream | Readable;
    if (by === 'fetch') body = (await limitedFetch(limiter, 'slots')(partner.url)).body!;
    else {
      const validateStatus = (): boolean => by !== 'axios, an error';
      const instance = create({
        responseType: 'stream',
        adapter: by === 'axios by fetch' ? 'fetch' : 'http',
        validateStatus,
      });
      limitedAxios(limiter, 'slots', instance);
      const got = await instance
        .get<Readable>(partner.url)
        .catch((error: unknown) => (error as AxiosError<Readable>).response!);
      body = got.data;
    }
    expect(await free()).toBe(0);
    const [answer] = partner.open;
    if (ended === 'read') {
      answer!.end('ends');
      await new Response(body instanceof Readable ? (Readable.toWeb(body) as ReadableStream) : body).text();
    } else if (ended === 'broken') {
      if (body instanceof Readable) body.on('error', () => undefined);
      answer!.destroy();
    } else if (body instanceof Readable) body.destroy();
    else await body.cancel();
    await until('the place is free', 2_000, async () => (await free()) === 1);
  });
});

it.each(['signal', 'cancelToken'])(
  "a request of axios leaves the queue by its %s, with axios's own error",
  async (by) => {
    await using partner = await ScriptedServer.start([]);
    await using started = await start('Express', { imports: [RateLimitModule.forRoot({ policies: POLICIES })] });
    const limiter = started.app.get(RateLimiter);
    const instance = create();
    limitedAxios(limiter, 'slots', instance);
    const lease = await limiter.acquire('slots', null);
    const abort = new AbortController();
    const { token, cancel } = sourceOf();
    const given = by === 'signal' ? { signal: abort.signal } : { cancelToken: token };
    const call = instance.get(partner.url, given).catch((error: unknown) => error);
    const waiting = (): number => limiter.stats().scheduled[0]?.waiting ?? 0;
    await until('it waits', 2_000, async () => waiting() === 1);
    if (by === 'signal') abort.abort();
    else cancel('enough');
    expect(isCancel(await call)).toBe(true);
    expect(waiting()).toBe(0);
    lease.release();
    expect((await instance.get(partner.url, by === 'signal' ? {} : { cancelToken: sourceOf().token })).status).toBe(
      200,
    );
    expect(partner.seen).toHaveLength(1);
  },
);

it.each(['before', 'after'])(
  'each attempt of rateLimitAxios waits for a place, where it was added %s limitedAxios',
  async (order) => {
    const rejection: Scripted = { status: 429, headers: { 'Retry-After': '0' }, body: { retry_after_ms: 1 } };
    await using partner = await ScriptedServer.start([rejection, rejection]);
    await using started = await start('Express', { imports: [RateLimitModule.forRoot({ policies: POLICIES })] });
    const limiter = started.app.get(RateLimiter);
    const instance = create({ responseType: 'stream' });
    const schedule = jest.spyOn(limiter, 'schedule');
    if (order === 'before') rateLimitAxios(instance, { jitter: 0 });
    limitedAxios(limiter, 'slots', instance, { maxPause: 1 });
    if (order === 'after') rateLimitAxios(instance, { jitter: 0 });
    expect((await instance.get(partner.url)).status).toBe(200);
    expect(partner.seen).toHaveLength(3);
    expect(schedule).toHaveBeenCalledTimes(3);
  },
);

it('a place is free at once where a body is empty', async () => {
  await using partner = await ScriptedServer.start([{ status: 204 }]);
  await using started = await start('Express', { imports: [RateLimitModule.forRoot({ policies: POLICIES })] });
  const limiter = started.app.get(RateLimiter);
  await limitedFetch(limiter, 'slots')(partner.url);
  expect((await limiter.peek('slots')).policies[0]!.remaining).toBe(1);
});

describe("limitedAxios on Nest's HttpService", () => {
  it('lets requests wait, frees the concurrency, and pauses all pods after a 429', async () => {
    await using opened = await world([{ body: { ok: true } }, REJECTION]);
    const { partner, pods } = opened;
    const { http, limiter } = pods[0];
    const instance: AxiosInstance = http.axiosRef;
    limitedAxios(limiter, ['slots', 'partner'], instance);
    const ok = await firstValueFrom(
      http.post<{ ok: boolean }>(partner.url, { driver: 'd1' }, { params: { zone: 'z' } }),
    );
    expect(ok.data).toEqual({ ok: true });
    const rejected: unknown = await firstValueFrom(http.get(partner.url)).catch((error: unknown) => error);
    expect(isAxiosError(rejected) && rejected.response?.status).toBe(429);
    expect(partner.seen[0]).toMatchObject({ method: 'POST', path: '/path?zone=z', body: '{"driver":"d1"}' });
    expect(partner.seen[0]!.headers['content-type']).toContain('application/json');
    await until('the other pod pauses', 1_500, () => isPaused(pods[1]));
    const after = await Promise.all([1, 2].map(async () => firstValueFrom(http.get(partner.url))));
    expect(after.map(({ status }) => status)).toEqual([200, 200]);
    expect(partner.seen[2]!.at - partner.seen[1]!.at).toBeGreaterThan(1_900);
    expect((await limiter.peek('slots')).policies[0]!.remaining).toBe(1);
  });
});
