import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  MemoryStore,
  type Policy,
  RateLimitConfigError,
  RateLimitModule,
  type RateLimitModuleOptions,
  userIdentity,
} from 'nestjs-floodgate';
import { limited, start } from '../../support/http-app.js';

@Controller()
class Routes {
  @Get()
  get(): void {}
}

const BURST: Policy = { algorithm: 'token-bucket', capacity: 20, refill: 10 };
const bucket: Record<string, unknown> = { ...BURST };
const REDIS =
  'redis must be a redis:// or rediss:// URL, ioredis options, or a client of ioredis or node-redis (the package redis), got';
const IDENTITY =
  'identity must be an array of resolvers such as userIdentity() or { kind, resolve }, each kind 1 to 16 of a-z, 0-9 and -';
const PREFIX = 'keyPrefix must be 1 to 32 printable characters without blanks and braces';

const WRONG: [problem: string, options: unknown][] = [
  ["'redisUrl' is not an option. The options are redis, store, policies,", { redisUrl: 'redis://localhost' }],
  ["'throttlers' is not an option. Here it is policies.", { throttlers: [] }],
  ["connect must be one of 'retry', 'required', got 'require'. Did you mean 'required'?", { connect: 'require' }],
  ["got 'clsed'. Did you mean 'closed'?", { onStoreFailure: 'clsed' }],
  ["onMissingIdentity must be one of 'ip', 'reject', 'throw', got 'deny'", { onMissingIdentity: 'deny' }],
  ['redis and store are both given', { redis: 'redis://localhost', store: new MemoryStore() }],
  [`${REDIS} a text that does not begin with redis://`, { redis: 'localhost:6379' }],
  [`${REDIS} a URL that cannot be parsed`, { redis: 'redis://localhost:99999' }],
  [`${REDIS} an object of the class Map`, { redis: new Map() }],
  [`${REDIS} a promise`, { redis: Promise.resolve() }],
  ['store must be a RateLimitStore (an object with consume and reset), got an object', { store: { consume: () => 1 } }],
  ["store must be a RateLimitStore (an object with consume and reset), got 'memory'", { store: 'memory' }],
  ['policies must be an object of policies by name, got an array', { policies: [bucket] }],
  ['defaults must be an array of names, or of policies with a name, got an object', { defaults: bucket }],
  [
    'defaults must be an array of names, or of policies with a name, got a policy without a name at [1]',
    { defaults: ['a', bucket], policies: { a: bucket } },
  ],
  [
    "RateLimitModule, defaults[0]: there is no policy named 'nothing'. The option policies is empty",
    { defaults: ['nothing'] },
  ],
  [
    "RateLimitModule, defaults[1]: capacity must be a whole number from 1 to 1000000000000, got '10'",
    {
      defaults: [
        { ...bucket, name: 'a' },
        { ...bucket, name: 'b', capacity: '10' },
      ],
    },
  ],
  ["defaults (for Routes.get): two policies are named 'a'", { defaults: ['a', 'a'], policies: { a: bucket } }],
  [
    'policies.burst: capacity must be a whole number from 1 to 1000000000000, got 0',
    { policies: { burst: { ...bucket, capacity: 0 } } },
  ],
  ['policies.burst: a policy must be an object', { policies: { burst: null } }],
  [
    "policies.burst: name must be 'burst' or left out, got 'brust'",
    { policies: { burst: { ...bucket, name: 'brust' } } },
  ],
  [`${IDENTITY}, got the function userIdentity, which is not called, at [0]`, { identity: [userIdentity] }],
  [`${IDENTITY}, got kind 'user' without a function resolve at [0]`, { identity: [{ kind: 'user' }] }],
  [
    "headers must be one of 'x-ratelimit', 'draft-11', 'x-ratelimit+draft-11', 'throttler', false, got 'off'",
    { headers: 'off' },
  ],
  [
    "headers must be one of 'x-ratelimit', 'draft-11', 'x-ratelimit+draft-11', 'throttler', false, got 'draft-10'. Did you mean 'draft-11'?",
    { headers: 'draft-10' },
  ],
  ["clock must be one of 'redis', 'app', got 'server'", { clock: 'server' }],
  [
    "maxSkew must be a duration of whole milliseconds from 0 to '10s', as a number or as text with a unit, got '11s'",
    { clock: 'app', maxSkew: '11s' },
  ],
  ["maxSkew has no effect on Redis's clock", { maxSkew: 1000 }],
  ['maxWaiting must be a whole number from 1, got 0', { maxWaiting: 0 }],
  ['maxWaitingPerClient must be a whole number from 1, got 0', { maxWaitingPerClient: 0 }],
  [
    "deadline must be a duration of whole milliseconds from '1ms' to '10s', as a number or as text with a unit, got 0",
    { deadline: 0 },
  ],
  ['localShare must be a whole number from 1 to 10000, got 0', { localShare: 0 }],
  ['fallbackMaxBytes must be a whole number from 1, got 0.5', { fallbackMaxBytes: 0.5 }],
  ["onStoreStateChange must be a function, got 'log'", { onStoreStateChange: 'log' }],
  ['onDecision must be a function, got an object', { onDecision: {} }],
  ["each type once and not http, got type 'http' at [0]", { contexts: [{ type: 'http' }] }],
  ["decisionIdentity must be 'tag' or 'hash', got true", { decisionIdentity: true, onDecision: () => undefined }],
  ['decisionIdentity has no effect without onDecision', { decisionIdentity: 'tag' }],
  [PREFIX, { keyPrefix: '{a}' }],
  [
    'problem must be true, false, or a function that returns the members of the problem, got an object',
    { problem: {} },
  ],
];

describe('a wrong option of the module stops the boot', () => {
  it.each(WRONG)('in forRoot, and the error names it: %s (%#)', async (problem, options) => {
    const boot = limited('Express', Routes, options as RateLimitModuleOptions);
    await expect(boot).rejects.toMatchObject({
      name: 'RateLimitConfigError',
      message: expect.stringMatching(/^RateLimitModule\b/),
    });
    await expect(boot).rejects.toThrow(problem);
  });

  it.each<[string, unknown]>([
    ['options must be an object such as { redis, defaults: [...] }, got an array; the array of throttlers', []],
    ["'redisUrl' is not an option", { redisUrl: 'redis://localhost' }],
    ['guard is a static option: give it beside useFactory or useClass', { guard: false }],
    ['options must be an object such as { redis, defaults: [...] }, got undefined', undefined],
  ])('in forRootAsync, and the error names it: %s', async (problem, options) => {
    const imports = [RateLimitModule.forRootAsync({ useFactory: () => options as RateLimitModuleOptions })];
    const boot = start('Express', { imports, controllers: [Routes] });
    await expect(boot).rejects.toBeInstanceOf(RateLimitConfigError);
    await expect(boot).rejects.toThrow(problem);
  });

  it.each(['hunter2@redis:6379', 'redis://:hunter2@host:port', 'Redis://:hunter2@host'])(
    'with an error that never repeats a Redis URL, which may hold a password (%s)',
    async (redis) => {
      const error: unknown = await limited('Express', Routes, { redis }).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(RateLimitConfigError);
      expect(String((error as Error).stack)).not.toContain('hunter2');
    },
  );
});

it.each<[string, RateLimitModuleOptions]>([
  ['FG_OPTION_WITHOUT_EFFECT', { decisionIdentity: 'tag' }],
  ['FG_INVALID_POLICY', { policies: { a: { ...BURST, capacity: 0 } } }],
  ['FG_INVALID_POLICY', { policies: { a: { ...BURST, by: 'users' as 'user' } } }],
])('an error at boot has the code %s (%#)', async (code, options) => {
  await expect(limited('Express', Routes, options)).rejects.toMatchObject({ code });
});
