import { expect, it } from '@jest/globals';
import {
  chargedBy,
  type Decision,
  MemoryStore,
  RateLimitConfigError,
  rateLimitDecisionOf,
  RateLimiter,
  RateLimitModule,
  RedisStore,
} from 'nestjs-floodgate';
import { expectLimit, VirtualClock } from 'nestjs-floodgate/testing';
import { start } from '../../support/http-app.js';

const POLICIES = {
  window: { algorithm: 'fixed-window', limit: 5, window: '1m' },
  slots: { algorithm: 'concurrency', limit: 2, lease: '30s' },
} as const;
const ADA = { kind: 'user', value: 'ada' };
const noop = (): void => undefined;

it.each<[string, string, (limiter: RateLimiter) => unknown]>([
  ['a cost', 'FG_INVALID_OPTION', (limiter) => limiter.consume('window', ADA, { cost: -1 })],
  ['a misspelt option', 'FG_UNKNOWN_OPTION', (limiter) => limiter.consume('window', ADA, { costs: 2 } as object)],
  ['a plan', 'FG_OPTION_WITHOUT_EFFECT', (limiter) => limiter.consume('window', ADA, { plan: 'pro' })],
  ['a plan that has changed', 'FG_OPTION_WITHOUT_EFFECT', (limiter) => limiter.planChanged(ADA)],
  ['no identity', 'FG_INVALID_OPTION', (limiter) => limiter.consume('window', null as never)],
  ['an order of arguments', 'FG_INVALID_OPTION', (limiter) => limiter.peek(ADA as never, 'window' as never)],
  ['a method of a class', 'FG_UNKNOWN_ROUTE', (limiter) => limiter.peek([MemoryStore, 'reset'], ADA)],
  ['a policy without leases', 'FG_INVALID_OPTION', (limiter) => limiter.acquire('window', ADA)],
  ['no function', 'FG_INVALID_OPTION', (limiter) => limiter.schedule('window', ADA, 'run' as never)],
  ['a cost that never fits', 'FG_CALL_NEVER_FITS', (limiter) => limiter.schedule('window', ADA, noop, { cost: 6 })],
  ['an expiry', 'FG_OPTION_WITHOUT_EFFECT', (limiter) => limiter.reserve('window', ADA, { atExpiry: 'cancel' })],
  ['a final cost', 'FG_INVALID_OPTION', async (limiter) => (await limiter.reserve('window', ADA)).settle(-1)],
  [
    'a copy',
    'FG_INVALID_OPTION',
    async (limiter) => chargedBy({ ...(await limiter.consume('window', ADA)), policies: [{} as never] }),
  ],
  ['a response', 'FG_INVALID_OPTION', (limiter) => limiter.setHeaders({}, {} as Decision)],
  ['a context', 'FG_INVALID_OPTION', () => rateLimitDecisionOf('request' as never)],
  ['a client', 'FG_INVALID_OPTION', () => new RedisStore({} as never)],
  ['a clock', 'FG_INVALID_OPTION', () => new MemoryStore({ clock: Date.now })],
  ['a number of keys', 'FG_INVALID_OPTION', () => new MemoryStore({ maxKeys: 0 })],
  ['an application', 'FG_INVALID_OPTION', () => expectLimit({} as never)],
  ['a duration', 'FG_INVALID_OPTION', () => new VirtualClock().advance('a while')],
])('refuses %s with the code %s', async (_, code, call) => {
  await using app = await start('Express', { imports: [RateLimitModule.forRoot({ policies: POLICIES })] });
  const error: unknown = await (async () => call(app.app.get(RateLimiter)))().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RateLimitConfigError);
  expect(error).toMatchObject({ code });
});
