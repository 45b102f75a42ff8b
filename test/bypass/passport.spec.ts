import { Controller, Get, Injectable, Module, type Type, UseGuards } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AuthGuard, PassportModule, PassportStrategy } from '@nestjs/passport';
import { Strategy } from 'passport-custom';
import { describe, expect, it } from '@jest/globals';
import {
  type IdentityResolver,
  type Policy,
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleExtras,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { type HttpApp, left, limitHeaders, PLATFORMS, type SendOptions, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

interface TestRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly user?: { readonly id: string };
}

/** A real, asynchronous strategy for tokens of the form `token-of-<user>`. */
@Injectable()
class TokenStrategy extends PassportStrategy(Strategy, 'token') {
  static asked = 0;

  async validate(request: TestRequest): Promise<{ id: string } | null> {
    TokenStrategy.asked++;
    await new Promise((resolve) => setImmediate(resolve));
    const id = /^Bearer token-of-(\w+)$/.exec(request.headers.authorization ?? '')?.[1];
    return id === undefined ? null : { id };
  }
}

@Module({ imports: [PassportModule], providers: [TokenStrategy] })
class AuthModule {}

const ADDRESS: Policy = { name: 'address', algorithm: 'token-bucket', capacity: 6, refill: '1/h', by: 'ip' };
const USER: Policy = { name: 'user', algorithm: 'token-bucket', capacity: 2, refill: '1/h', by: 'user' };
const authenticated: IdentityResolver = {
  kind: 'user',
  resolve: ({ user }: TestRequest) => user?.id,
};

@Controller('rides')
@UseGuards(AuthGuard('token'), RateLimitGuard)
class Rides {
  @Get()
  @RateLimit(USER)
  list(): string {
    return 'passed';
  }
}

@Controller('rides')
@RateLimit(USER)
class Unguarded {
  @Get()
  list(): string {
    return 'passed';
  }
}

const as = (user: string): SendOptions => ({ headers: { Authorization: `Bearer token-of-${user}` } });
type Options = RateLimitModuleOptions & RateLimitModuleExtras;

const optionsWith = (more: Omit<Options, 'store'>): Options & { store: StillStore } => ({
  store: new StillStore(),
  identity: [authenticated],
  onMissingIdentity: 'throw',
  ...more,
});

describe.each(PLATFORMS)("Passport's guard over %s", (platform) => {
  async function open(options: Options, controller: Type = Rides, guards: Type[] = []): Promise<HttpApp> {
    TokenStrategy.asked = 0;
    return start(platform, {
      imports: [RateLimitModule.forRoot(options), AuthModule],
      controllers: [controller],
      providers: guards.map((useClass) => ({ provide: APP_GUARD, useClass })),
    });
  }

  it.each<[string, Type, Type[]]>([
    ['on the controller, before the guard of the limits', Rides, []],
    ['for the application, before the guard of the limits', Unguarded, [AuthGuard('token') as Type, RateLimitGuard]],
  ])('runs between an ip policy of the middleware and a user policy: %s', async (_, controller, guards) => {
    const options = optionsWith({ guard: false, middleware: [ADDRESS] });
    await using app = await open(options, controller, guards);
    const first = await app.send('/rides', as('ada'));
    expect([first.status, first.text, left(first)]).toEqual([200, 'passed', 1]);
    // Each user has a limit of their own. Guessed tokens charge the address only.
    expect((await app.send('/rides', as('ada'))).status).toBe(200);
    const rejected = await app.send('/rides', as('ada'));
    expect([rejected.status, rejected.body]).toEqual([429, expect.objectContaining({ policy: 'user' })]);
    expect((await app.send('/rides', as('bob'))).status).toBe(200);
    const guesses = [];
    for (let i = 0; i < 4; i++)
      guesses.push(await app.send('/rides', { headers: { Authorization: `Bearer guess-${i}` } }));
    expect(guesses.map(({ status }) => status)).toEqual([401, 401, 429, 429]);
    expect(guesses[3]!.body).toMatchObject({ error: 'rate_limit_exceeded', policy: 'address' });
    expect(limitHeaders(guesses[0]!)).toHaveLength(3);
    expect(TokenStrategy.asked).toBe(6);
    expect(options.store.keys.map((key) => key.split('}')[0])).toEqual([
      'rl:{ip:127.0.0.1',
      'rl:{user:ada',
      'rl:{user:bob',
    ]);
    expect(app.logs.of('error')).toEqual([]);
  });
});
