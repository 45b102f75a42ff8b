import { All, Controller, Get, Next, Post } from '@nestjs/common';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { limited } from '../support/http-app.js';
import { policiesOf } from '../support/told-store.js';
import { StillStore } from '../support/still-store.js';

const WINDOW = { algorithm: 'fixed-window', window: '1h' } as const;
const WIDE: Policy = { ...WINDOW, name: 'wide', limit: 100 };
const STRICT: Policy = { ...WINDOW, name: 'strict', limit: 5 };
const SHARED: Policy = { ...WINDOW, name: 'shared', limit: 10, scope: 'app' };

let entered: string[] = [];
beforeEach(() => {
  entered = [];
});

@Controller('limited')
class LimitedFirst {
  @All('*splat')
  @RateLimit(WIDE)
  all(@Next() next: () => void): void {
    entered.push('all');
    next();
  }

  @Post('login')
  @RateLimit(STRICT)
  login(): void {
    entered.push('login');
  }
}

@Controller('unlimited')
class UnlimitedFirst {
  @All('*splat')
  all(@Next() next: () => void): void {
    entered.push('all');
    next();
  }

  @Post('login')
  @RateLimit(STRICT)
  login(): void {
    entered.push('login');
  }
}

@Controller('shared')
class Shared {
  @Get('*splat')
  @RateLimit(SHARED)
  all(@Next() next: () => void): void {
    entered.push('all');
    next();
  }

  @Get('one')
  @RateLimit(SHARED, STRICT)
  one(): void {
    entered.push('one');
  }
}

/** The statuses of requests, one after the other. */
async function statuses(
  controller: typeof LimitedFirst | typeof UnlimitedFirst | typeof Shared,
  path: string,
  method: string,
  count: number,
  options: RateLimitModuleOptions = {},
): Promise<number[]> {
  await using app = await limited('Express', controller, options);
  const found: number[] = [];
  for (let i = 0; i < count; i++) found.push((await app.send(path, { method })).status);
  expect(app.logs.of('error')).toEqual([]);
  return found;
}

const FIVE_OF_20 = [...Array<number>(5).fill(201), ...Array<number>(15).fill(429)];

// Fastify has no next(): one handler answers a request.
describe('over Express, a handler that a limited one passes a request on to', () => {
  it('is limited by its own policies as well', async () => {
    const store = new StillStore();
    expect(await statuses(LimitedFirst, '/limited/login', 'POST', 20, { store })).toEqual(FIVE_OF_20);
    expect(entered.filter((name) => name === 'login')).toHaveLength(5);
    expect(policiesOf(store.asked)).toEqual(Array.from({ length: 20 }, () => [['wide'], ['strict']]).flat());
  });

  it.each<[string, RateLimitModuleOptions]>([
    ['a block list', { blockList: ['192.0.2.1'] }],
    ['an allow list', { allowList: ['192.0.2.1'] }],
    ['no list', {}],
  ])('is limited where the first handler is not, with %s', async (_, options) => {
    const store = new StillStore();
    expect(await statuses(UnlimitedFirst, '/unlimited/login', 'POST', 20, { store, ...options })).toEqual(FIVE_OF_20);
    expect(entered.filter((name) => name === 'login')).toHaveLength(5);
  });

  it('charges a policy that both have once', async () => {
    const store = new StillStore();
    expect(await statuses(Shared, '/shared/one', 'GET', 8, { store })).toEqual([
      ...Array<number>(5).fill(200),
      ...Array<number>(3).fill(429),
    ]);
    expect(policiesOf(store.asked)).toEqual(Array.from({ length: 8 }, () => [['shared'], ['strict']]).flat());
    expect(entered.filter((name) => name === 'all')).toHaveLength(8);
  });
});
