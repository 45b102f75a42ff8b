import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  type Type,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import {
  type IdentityResolver,
  ipIdentity,
  RateLimit,
  RateLimiter,
  RateLimitExceededException,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitRequest,
  type TokenBucketPolicy,
} from 'nestjs-floodgate';
import { left, limitHeaders, PLATFORMS, type SendOptions, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

interface Authenticated {
  readonly headers: Readonly<Record<string, string | undefined>>;
  user?: { readonly id: string };
}

const requestOf = (context: ExecutionContext): Authenticated => context.switchToHttp().getRequest<Authenticated>();

/** Stands for any authentication guard: it sets the user of the request, or answers 401. */
@Injectable()
class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    const id = /^Bearer token-of-(\w+)$/.exec(request.headers.authorization ?? '')?.[1];
    if (id === undefined) throw new UnauthorizedException();
    request.user = { id };
    return true;
  }
}

/** A custom guard in place of the module's middleware. It limits every address before authentication. */
@Injectable()
class AddressLimit implements CanActivate {
  private readonly address = ipIdentity();

  constructor(private readonly limiter: RateLimiter) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const value = this.address.resolve(context.switchToHttp().getRequest<RateLimitRequest>()) ?? 'unknown';
    const decision = await this.limiter.consume('address', { kind: 'ip', value });
    if (!decision.allowed) throw new RateLimitExceededException(decision);
    return true;
  }
}

const authenticated: IdentityResolver = {
  kind: 'user',
  resolve: ({ user }: RateLimitRequest<Authenticated>) => user?.id,
};
const PER_USER: TokenBucketPolicy = {
  name: 'user',
  algorithm: 'token-bucket',
  capacity: 3,
  refill: '1/h',
  by: 'user',
  onMissingIdentity: 'throw',
};
const OPTIONS = (): RateLimitModuleOptions & { store: StillStore } => ({
  store: new StillStore(),
  identity: [authenticated],
  policies: { address: { algorithm: 'token-bucket', capacity: 10, refill: '1/h' } },
});

/** A route with a user policy and the given guards. */
function rides(...guards: Type<CanActivate>[]): Type {
  @Controller()
  @UseGuards(...guards)
  class Rides {
    @Get()
    @RateLimit(PER_USER)
    get(): string {
      return 'passed';
    }
  }
  return Rides;
}

const as = (user: string): SendOptions => ({ headers: { Authorization: `Bearer token-of-${user}` } });

describe.each(PLATFORMS)('authentication over %s', (platform) => {
  it('has not run when the guard of the module runs, if it is bound to a controller', async () => {
    const options = OPTIONS();
    await using app = await start(platform, {
      imports: [RateLimitModule.forRoot(options)],
      controllers: [rides(AuthGuard)],
    });
    expect((await app.send('/', as('ada'))).status).toBe(500);
    expect(app.logs.of('error')[0]).toContain(
      "policy 'user': no identity to count by 'user', the request has none; onMissingIdentity is 'throw': let authentication " +
        "run before the rate limit's guard",
    );
    expect(options.store.asked).toEqual([]);
  });

  @Module({ providers: [{ provide: APP_GUARD, useClass: AuthGuard }] })
  class AuthModule {}

  it.each<[string, boolean, (limits: ReturnType<typeof RateLimitModule.forRoot>) => object]>([
    [
      'of the root module',
      true,
      (limits) => ({ imports: [limits], providers: [{ provide: APP_GUARD, useClass: AuthGuard }] }),
    ],
    ['of a module that is imported before', true, (limits) => ({ imports: [AuthModule, limits] })],
    ['of a module that is imported after', false, (limits) => ({ imports: [limits, AuthModule] })],
  ])('in an application guard %s runs before the guard of the module: %p', async (_, before, metadata) => {
    const options = OPTIONS();
    await using app = await start(platform, { ...metadata(RateLimitModule.forRoot(options)), controllers: [rides()] });
    expect((await app.send('/', as('ada'))).status).toBe(before ? 200 : 500);
    expect(options.store.keys.map((key) => key.split('}')[0])).toEqual(before ? ['rl:{user:ada'] : []);
  });

  it.each<[string, (guards: Type<CanActivate>[]) => { controllers: Type[]; providers: object[] }]>([
    [
      'on the controller',
      (guards) => ({ controllers: [rides(...guards)], providers: [{ provide: APP_GUARD, useClass: AddressLimit }] }),
    ],
    [
      'for the application',
      (guards) => ({
        controllers: [rides()],
        providers: [AddressLimit, ...guards].map((useClass) => ({ provide: APP_GUARD, useClass })),
      }),
    ],
  ])('runs between an ip policy and a user policy when it is bound %s', async (_, bound) => {
    const options = OPTIONS();
    await using app = await start(platform, {
      imports: [RateLimitModule.forRoot({ ...options, guard: false })],
      ...(bound([AuthGuard, RateLimitGuard]) as { controllers: Type[] }),
    });
    // Each user has a limit of 3. The user policy counts no request by its address.
    const first = await app.send('/', as('ada'));
    expect([first.status, left(first)]).toEqual([200, 2]);
    expect(await app.crowd(3, '/', as('ada'))).toEqual({ 200: 2, 429: 1 });
    expect(left(await app.send('/', as('bob')))).toBe(2);
    // The ip policy limits guessed tokens. The requests above used 5 of its 10.
    const guesses = [];
    for (let i = 0; i < 8; i++) guesses.push(await app.send('/', { headers: { Authorization: `Bearer guess-${i}` } }));
    expect(guesses.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    expect(guesses.slice(0, 5).flatMap(limitHeaders)).toEqual([]);
    for (const reply of guesses.slice(5)) {
      expect([left(reply), limitHeaders(reply).length, Number(reply.headers['retry-after']) > 0]).toEqual([0, 3, true]);
    }
    expect(guesses.at(-1)!.body).toMatchObject({ error: 'rate_limit_exceeded', policy: 'address' });
    expect(options.store.keys.map((key) => key.split('}')[0])).toEqual([
      'rl:{ip:127.0.0.1',
      'rl:{user:ada',
      'rl:{user:bob',
    ]);
    expect(app.logs.of('error')).toEqual([]);
  });
});
