import { describe, expect, it } from '@jest/globals';
import axios, { create, type CreateAxiosDefaults, isAxiosError, isCancel } from 'axios';
import { rateLimitAxios, type RateLimitClientOptions } from './index.js';
import { type Scripted, ScriptedServer } from '../test-support/scripted-server.js';
import { VirtualTime } from '../test-support/virtual-time.js';

const REJECTION: Scripted = { status: 429, headers: { 'Retry-After': '2' }, body: { retry_after_ms: 1500 } };
const EMPTY: Scripted = { headers: { RateLimit: '"a";r=0;t=3' } };

interface Given extends RateLimitClientOptions {
  readonly axios?: CreateAxiosDefaults;
}

/** An instance of axios on a clock that stands still while requests are on the way. */
async function setUp(answers: readonly Scripted[], { axios: defaults, ...options }: Given = {}) {
  const time = new VirtualTime();
  const server = await ScriptedServer.start(answers, time.now);
  // axios's own adapter for fetch: the clock knows which requests are on the way.
  const instance = create({ adapter: 'fetch', env: { fetch: time.fetch }, ...defaults } as CreateAxiosDefaults);
  const remove = rateLimitAxios(instance, { time, random: () => 0, ...options });
  return { time, server, instance, remove, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

function statusOf(error: unknown): number | undefined {
  return isAxiosError(error) ? error.response?.status : undefined;
}

describe('rateLimitAxios', () => {
  it('retries a 429 after the milliseconds of its body, with the same body, for every method', async () => {
    await using world = await setUp([REJECTION, REJECTION]);
    const { time, server, instance } = world;
    const response = await time.run(instance.post(server.url, { driver: 'd1' }, { params: { zone: 'z' } }));
    expect(response.status).toBe(200);
    expect(server.seen.map(({ at }) => at)).toEqual([0, 1500, 3000]);
    expect(server.seen.map(({ body }) => body)).toEqual(Array.from({ length: 3 }).fill('{"driver":"d1"}'));
    expect(server.seen.map(({ path }) => path)).toEqual(Array.from({ length: 3 }).fill('/path?zone=z'));
  });

  it('ends with the error of the last 429', async () => {
    await using world = await setUp(
      Array.from({ length: 5 }, (): Scripted => REJECTION),
      { maxAttempts: 3 },
    );
    const { time, server, instance } = world;
    const error: unknown = await time.run(instance.get(server.url).catch((thrown: unknown) => thrown));
    expect(statusOf(error)).toBe(429);
    expect((error as { response: { data: unknown } }).response.data).toEqual({ retry_after_ms: 1500 });
    expect(server.seen).toHaveLength(3);
  });

  it.each([
    ['after a rejection', 'signal', REJECTION],
    ['before the first attempt', 'signal', EMPTY],
    ['before the first attempt', 'cancelToken', EMPTY],
  ] as const)("ends a wait %s with axios's own error by the %s", async (_, by, answer) => {
    await using world = await setUp([answer]);
    const { time, server, instance } = world;
    const abort = new AbortController();
    // oxlint-disable-next-line import/no-named-as-default-member -- the named export is a type alone
    const { token, cancel } = axios.CancelToken.source();
    if (answer === EMPTY) await time.run(instance.get(server.url));
    const given = by === 'signal' ? { signal: abort.signal } : { cancelToken: token };
    const ended = instance.get(server.url, given).catch((error: unknown) => error);
    await time.advance(1000);
    if (by === 'signal') abort.abort();
    else cancel('enough');
    await time.settle();
    expect(time.timers).toBe(0);
    expect(isCancel(await ended)).toBe(true);
    expect(server.seen).toHaveLength(1);
    // The next call is not held back by the one that went away.
    expect((await time.run(instance.get(server.url))).status).toBe(200);
  });

  it('passes other errors on, and the configuration of one begins another call', async () => {
    await using world = await setUp([{ status: 500 }, REJECTION]);
    const { time, server, instance } = world;
    const error: unknown = await time.run(instance.get(server.url).catch((thrown: unknown) => thrown));
    expect(statusOf(error)).toBe(500);
    const { config } = error as { config: object };
    expect((await time.run(instance.request(config))).status).toBe(200);
    expect(server.seen.map(({ at }) => at)).toEqual([0, 0, 1500]);
  });

  it.each(['request', 'response', 'adapter'] as const)(
    'keeps no place where another %s interceptor or adapter throws an error without a configuration',
    async (where) => {
      const time = new VirtualTime();
      const sent: number[] = [];
      let isBroken = false;
      const mayFail = <T>(value: T, at: string): T => {
        if (isBroken && at === where) throw new Error('no configuration');
        return value;
      };
      const instance = create({
        adapter: async (config) => {
          sent.push(time.now());
          const [status, headers] = sent.length === 1 ? [429, { 'retry-after': '2' }] : [200, {}];
          return mayFail({ status, statusText: '', headers, data: '', config }, 'adapter');
        },
      });
      instance.interceptors.request.use((config) => mayFail(config, 'request'));
      instance.interceptors.response.use((response) => mayFail(response, 'response'));
      rateLimitAxios(instance, { time, random: () => 0, maxAttempts: 1 });
      expect((await time.run(instance.get('http://partner/'))).status).toBe(429);
      isBroken = true;
      await expect(time.run(instance.get('http://partner/'))).rejects.toThrow('no configuration');
      isBroken = false;
      expect((await time.run(instance.get('http://partner/'))).status).toBe(200);
      expect(sent.at(-1)).toBe(2000);
    },
  );

  it('leaves the instance as it was once it is removed', async () => {
    await using world = await setUp([REJECTION]);
    world.remove();
    const error: unknown = await world.time.run(
      world.instance.get(world.server.url).catch((thrown: unknown) => thrown),
    );
    expect(statusOf(error)).toBe(429);
    expect(world.server.seen).toHaveLength(1);
  });
});
