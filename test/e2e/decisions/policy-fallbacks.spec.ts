import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, type PolicyFunction, type PolicySource, RateLimit } from 'nestjs-floodgate';
import { type HttpApp, limited, PLATFORMS } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const bucket = (name: string, capacity: number): Policy => ({
  name,
  algorithm: 'token-bucket',
  capacity,
  refill: '1/m',
});
const queue = (name: string): Policy => ({ name, algorithm: 'leaky-bucket', capacity: 5, drain: 100 });
const POLICIES = { free: bucket('free', 2), gold: bucket('gold', 5) };

/** A policy function whose database is gone. */
const fails: PolicyFunction = () => {
  throw new Error('plans are gone');
};

/** The names of the policies that each request was charged by. */
const charged = (store: StillStore): unknown[] =>
  store.asked.map((charges) => charges.map(({ key }) => /:([a-z]+):[a-z]+:[^:]*$/.exec(key)?.[1]));

async function open(
  platform: (typeof PLATFORMS)[number],
  store: StillStore,
  [first, ...more]: PolicySource[],
  defaults: PolicySource[] = [],
): Promise<HttpApp> {
  @Controller()
  class Tenants {
    @Get()
    @RateLimit(first!, ...more)
    get(): void {}
  }
  return limited(platform, Tenants, { store, defaults, policies: POLICIES });
}

describe.each(PLATFORMS)('when policy functions fail, over %s', (platform) => {
  it.each<[string, PolicySource[], PolicySource[], string[]]>([
    [
      'two functions with one fallback are charged by it once',
      [
        { choose: fails, fallback: 'free' },
        { choose: fails, fallback: 'free' },
      ],
      [],
      ['free'],
    ],
    ['two functions with the defaults are charged by them once', [fails, fails], [bucket('usual', 3)], ['usual']],
    [
      'a fallback that another function chooses is charged once',
      [{ choose: fails, fallback: 'free' }, () => 'free'],
      [],
      ['free'],
    ],
    [
      'a policy that another function chooses goes before a fallback of its name',
      [{ choose: fails, fallback: bucket('gold', 1) }, () => 'gold'],
      [],
      ['gold'],
    ],
    [
      'a queue of the defaults stands back from the queue of the route',
      [queue('own'), fails],
      [queue('usual')],
      ['own'],
    ],
    [
      'fallbacks keep the order of the policies',
      [{ choose: fails, fallback: 'free' }, 'gold'],
      [bucket('usual', 3)],
      ['free', 'gold'],
    ],
  ])('%s', async (_, sources, defaults, names) => {
    const store = new StillStore();
    await using app = await open(platform, store, sources, defaults);
    expect((await app.send('/')).status).toBe(200);
    expect(charged(store)).toEqual([names]);
    expect(app.logs.of('error')).toEqual([]);
  });

  it('a fallback that the route has already stops the boot', async () => {
    const opened = open(platform, new StillStore(), ['free', { choose: () => 'gold', fallback: 'free' }]);
    await expect(opened).rejects.toThrow("Tenants.get, @RateLimit: two policies are named 'free'");
  });

  it('a function of the middleware leaves out the defaults that need a route', async () => {
    @Controller()
    class Plain {
      @Get()
      get(): void {}
    }
    const store = new StillStore();
    const defaults: Policy[] = [{ ...bucket('routed', 3), scope: 'route' }, bucket('usual', 3)];
    await using app = await limited(platform, Plain, { store, defaults, middleware: [fails] });
    expect((await app.send('/nothing')).status).toBe(404);
    expect(charged(store)).toEqual([['usual']]);
  });
});
