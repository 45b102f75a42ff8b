import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { overrideRateLimitStore, VirtualClock } from 'nestjs-floodgate/testing';
import { Test } from '@nestjs/testing';
import { ClockedRedis } from '../../support/faults/clocked-redis.js';
import { until } from '../../support/faults/until.js';
import { type HttpApp, type Platform, PLATFORMS, type Reply } from '../../support/http-app.js';
import { LONG } from '../../support/long.js';
import { Recipe } from '../../support/recipe.js';
import { adapterOf, counts, type RecipeModule, tell } from './support/story.js';

// docs/recipes.md, "A monthly quota in Paris".

jest.setTimeout(60_000);

const LIMIT = 100;
/** Midnights in Paris at which a month begins: in UTC+1, in UTC+2, over both changes of the clocks, a year and a leap day. */
const EDGES = [
  { month: 'January 2026', start: '2025-12-31T23:00:00Z', next: '2026-01-31T23:00:00Z' },
  { month: 'March 2026, to summer time', start: '2026-02-28T23:00:00Z', next: '2026-03-31T22:00:00Z' },
  { month: 'July 2026', start: '2026-06-30T22:00:00Z', next: '2026-07-31T22:00:00Z' },
  { month: 'October 2026, to winter time', start: '2026-09-30T22:00:00Z', next: '2026-10-31T23:00:00Z' },
  { month: 'February 2028, of 29 days', start: '2028-01-31T23:00:00Z', next: '2028-02-29T23:00:00Z' },
] as const;

let recipe: Recipe;

beforeAll(() => {
  recipe = Recipe.of('docs/recipes.md', 'quota.module.ts');
});

afterAll(() => recipe[Symbol.dispose]());

afterEach(() => void jest.restoreAllMocks());

type Send = () => Promise<{ readonly status: number; readonly retryAfter: number }>;

/** Sends 110 requests at once: exactly the quota passes. */
async function expectQuota(send: Send): Promise<void> {
  const replies = await Promise.all(Array.from({ length: LIMIT + 10 }, send));
  expect(counts(replies.map(({ status }) => status))).toEqual({ 200: LIMIT, 429: 10 });
}

describe.each(PLATFORMS)('a monthly quota in Paris over %s', (platform) => {
  it.each(EDGES)('in memory is one for $month, to the microsecond', async ({ start, next }) => {
    const clock = new VirtualClock(start);
    clock.stepBack('1ms');
    const { AppModule } = await recipe.import<RecipeModule>('');
    const builder = overrideRateLimitStore(Test.createTestingModule({ imports: [AppModule] }), clock);
    const app = (await builder.compile()).createNestApplication(adapterOf(platform), { logger: false });
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    const send: Send = async () => {
      const { status, headers } = await fetch(`${url}/reports`, { headers: { 'X-User-Id': 'ada' } });
      return { status, retryAfter: Number(headers.get('retry-after')) };
    };
    const seconds = (Date.parse(next) - Date.parse(start)) / 1000;

    await expectQuota(send); // of the month before
    clock.advance(1);
    await expectQuota(send);
    expect(await send()).toEqual({ status: 429, retryAfter: seconds });
    clock.advanceTo(new Date(Date.parse(start) + 15 * 86_400_000).toISOString());
    expect(await send()).toEqual({ status: 429, retryAfter: seconds - 15 * 86_400 });
    clock.advanceTo(next);
    clock.stepBack('1ms');
    clock.advanceMicroseconds(999);
    expect(await send()).toEqual({ status: 429, retryAfter: 1 });
    clock.advanceMicroseconds(1);
    await expectQuota(send);
    await app.close();
  });

  it('in Redis begins by its clock, at these midnights', async () => {
    await using redis = await ClockedRedis.start();
    await using pod = await PodOn.start(platform, redis);
    // Each takes seconds. Without the long tests, the months of both changes of the clocks.
    for (const { start, next } of LONG ? EDGES : EDGES.filter(({ month }) => month.includes(', to '))) {
      const send: Send = async () => retryOf(await pod.app.as(`ada-${start}`, '/reports'));
      pod.setClock(Date.parse(start) - 2_500);
      await expectQuota(send);
      const rejected = await send();
      expect([rejected.status, [1, 2, 3].includes(rejected.retryAfter)]).toEqual([429, true]);
      // The next quota is there when Redis's clock passes midnight, and not before.
      await until('midnight', 10_000, async () => (await send()).status === 200);
      expect(pod.now()).toBeGreaterThanOrEqual(Date.parse(start));
      expect(pod.now()).toBeLessThan(Date.parse(start) + 3_000);
      const replies = await Promise.all(Array.from({ length: LIMIT + 9 }, send));
      expect(counts(replies.map(({ status }) => status))).toEqual({ 200: LIMIT - 1, 429: 10 });
      const { retryAfter } = await send();
      expect(Math.abs(retryAfter - (Date.parse(next) - pod.now()) / 1000)).toBeLessThan(3);
    }
  });
});

function retryOf({ status, headers }: Reply): { status: number; retryAfter: number } {
  return { status, retryAfter: Number(headers['retry-after']) };
}

/** An instance and its Redis, the clocks of which stand at another date, as those of machines that agree on it do. */
class PodOn implements AsyncDisposable {
  private aheadMs = 0;

  private constructor(
    readonly app: HttpApp,
    private readonly redis: ClockedRedis,
  ) {
    const real = Date.now.bind(Date);
    jest.spyOn(Date, 'now').mockImplementation(() => Math.floor(real() + this.aheadMs));
  }

  static async start(platform: Platform, redis: ClockedRedis): Promise<PodOn> {
    return new PodOn(await tell(recipe, platform, redis.server.url), redis);
  }

  now(): number {
    return Date.now();
  }

  setClock(to: number): void {
    this.aheadMs += to - Date.now();
    this.redis.setAhead(this.aheadMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app.close();
  }
}
