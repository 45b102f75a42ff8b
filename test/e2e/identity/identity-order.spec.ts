import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { AuthGuard as PassportGuard } from '@nestjs/passport';
import { describe, expect, it } from '@jest/globals';
import {
  type IdentityResolver,
  ipIdentity,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitRequest,
  userIdentity,
} from 'nestjs-floodgate';
import { type HttpApp, PLATFORMS, start } from '../../support/http-app.js';

interface Authenticated {
  readonly headers: Readonly<Record<string, string | undefined>>;
  user?: { readonly id: string; readonly plan?: string };
}

const USER: IdentityResolver = {
  kind: 'user',
  resolve: ({ user }: Authenticated) => user?.id,
};
const IDENTITY: readonly IdentityResolver[] = [USER, ipIdentity()];
const TWO = { name: 'rider', algorithm: 'fixed-window', limit: 2, window: '1h' } as const satisfies Policy;
const BY_USER = { ...TWO, by: 'user' } as const satisfies Policy;

/** Believes a header: each caller of a test is who it says. */
function authenticate(context: ExecutionContext): true {
  const request = context.switchToHttp().getRequest<Authenticated>();
  const id = request.headers['x-user'];
  if (id !== undefined) request.user = { id };
  return true;
}

@Injectable()
class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return authenticate(context);
  }
}

/** Authenticates, though its name does not say so. */
@Injectable()
class Gatekeeper implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return authenticate(context);
  }
}

@Injectable()
class RolesGuard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

function guardedBy(guards: readonly (Type<CanActivate> | CanActivate)[], policy: Policy = BY_USER): Type {
  @Controller('rides')
  @UseGuards(...guards)
  class RidesController {
    @Get()
    @RateLimit(policy)
    list(): string {
      return 'rides';
    }
  }
  return RidesController;
}

/** Four users behind one address, one after the other. */
async function fourUsers(app: HttpApp): Promise<number[]> {
  const statuses: number[] = [];
  for (const user of ['ada', 'bob', 'cleo', 'dan']) {
    statuses.push((await app.send('/rides', { headers: { 'X-User': user } })).status);
  }
  return statuses;
}

const warnings = (app: HttpApp): string[] => app.logs.of('warn').map((line) => line.replace(/ RateLimit$/, ''));
const missing = (app: HttpApp): unknown => app.app.get(RateLimiter).stats().missingIdentities;

const AT_BOOT =
  "RidesController.list: policy 'rider' counts by 'user', but the rate limit's guard runs before AuthGuard, so that there is no " +
  'user yet. Let authentication run first: an APP_GUARD of the root module, or of a module that is imported before RateLimitModule; or guard: false in ' +
  'RateLimitModule and @UseGuards(AuthGuard, RateLimitGuard); or a middleware that authenticates';

describe.each(PLATFORMS)('authentication after the rate limit, over %s', (platform) => {
  const begin = (
    controllers: Type[],
    options: RateLimitModuleOptions & { guard?: boolean } = {},
    metadata: object = {},
  ): Promise<HttpApp> =>
    start(platform, {
      imports: [RateLimitModule.forRoot({ identity: IDENTITY, ...options })],
      controllers,
      ...metadata,
    });

  it('is found at boot, and proven and counted by requests', async () => {
    await using app = await begin([guardedBy([AuthGuard])]);
    expect(warnings(app)).toEqual([AT_BOOT]);
    expect(missing(app)).toEqual([{ policy: 'rider', requests: 0 }]);
    expect(await fourUsers(app)).toEqual([200, 200, 429, 429]);
    expect(missing(app)).toEqual([{ policy: 'rider', requests: 4 }]);
    expect(warnings(app).slice(1)).toEqual([
      expect.stringMatching(
        /^RidesController\.list: policy 'rider' counted the address of a request whose user was found later, because the rate limit's guard runs before authentication\. Let authentication run first: /,
      ),
    ]);
  });

  it("is found at boot where it is Passport's, whose class has a random name", async () => {
    class RidersOnly extends PassportGuard('jwt') {}
    const name = (guard: string): string => AT_BOOT.replace('before AuthGuard,', `before ${guard},`);
    await using mixed = await begin([guardedBy([PassportGuard('jwt')])]);
    expect(warnings(mixed)).toEqual([name("Passport's AuthGuard")]);
    await using derived = await begin([guardedBy([RidersOnly])]);
    expect(warnings(derived)).toEqual([name('RidersOnly')]);
  });

  it('is found at boot behind the guards of nestjs-cls, which find no user', async () => {
    class ClsGuard extends RolesGuard {}
    const limit = RateLimitModule.forRoot({ identity: IDENTITY });
    for (const guard of [{ canActivate: () => true }, new ClsGuard()]) {
      @Module({ providers: [{ provide: APP_GUARD, useFactory: () => guard }] })
      class ClsModule {}
      await using app = await begin([guardedBy([AuthGuard])], {}, { imports: [ClsModule, limit] });
      expect(warnings(app)).toEqual([AT_BOOT]);
    }
    @Module({ providers: [{ provide: APP_GUARD, useValue: { canActivate: authenticate } }] })
    class AuthModule {}
    await using early = await begin([guardedBy([AuthGuard])], {}, { imports: [AuthModule, limit] });
    expect(warnings(early)).toEqual([]);
  });

  it('is found at boot where a cost or a plan reads the user', async () => {
    const cost = (request: RateLimitRequest): number => (request.user === undefined ? 2 : 1);
    await using costs = await begin([guardedBy([AuthGuard], { ...TWO, by: 'ip', cost })]);
    expect(warnings(costs)).toEqual([AT_BOOT.replace("counts by 'user'", 'has a function of the user (cost)')]);

    await using plans = await begin(
      [guardedBy([AuthGuard], { ...TWO, by: () => ({ kind: 'all', value: 1 }), plans: { pro: { limit: 9 } } })],
      {
        plan: { resolve: (request: Authenticated) => request.user?.plan },
      },
    );
    expect(warnings(plans)).toEqual([
      AT_BOOT.replace("counts by 'user'", "has a function of the user (the module's plan)"),
    ]);
  });

  it.each<[boolean, Policy['cost']]>([
    [true, ({ user }) => (user === undefined ? 2 : 1)],
    [true, ({ user: { id } }: Required<Authenticated>) => id.length],
    [true, ({ user = { id: 'nobody' } }: Authenticated) => user.id.length],
    [false, ({ headers: { user } }) => user?.length ?? 1],
  ])('is found at boot (%p) where the cost is the function %p', async (isFound, cost) => {
    await using app = await begin([guardedBy([AuthGuard], { ...TWO, by: 'ip', cost })]);
    expect(warnings(app)).toEqual(
      isFound ? [AT_BOOT.replace("counts by 'user'", 'has a function of the user (cost)')] : [],
    );
  });

  it('is found behind a global guard of the rate limit: the order of the modules', async () => {
    @Module({ providers: [{ provide: APP_GUARD, useClass: AuthGuard }] })
    class AuthModule {}
    const limit = RateLimitModule.forRoot({ identity: IDENTITY });
    await using late = await begin([guardedBy([])], {}, { imports: [limit, AuthModule] });
    expect(warnings(late)).toEqual([AT_BOOT]);
    await using early = await begin([guardedBy([RolesGuard])], {}, { imports: [AuthModule, limit] });
    expect(await fourUsers(early)).toEqual([200, 200, 200, 200]);
    expect(warnings(early)).toEqual([]);
  });

  it('is found in the middleware, which runs before all guards', async () => {
    await using app = await begin([guardedBy([Gatekeeper], { ...TWO, name: 'own', by: 'ip', limit: 9 })], {
      middleware: [BY_USER],
    });
    expect(warnings(app)).toEqual([
      "RateLimitModule, middleware: policy 'rider' counts by 'user', but the middleware runs before authentication, so that there " +
        "is no user yet. Count addresses there (by: 'ip'), and users on routes",
    ]);
    await fourUsers(app);
    expect(warnings(app).slice(1)).toEqual([
      expect.stringMatching(/^RateLimitModule, middleware: policy 'rider' counted the address of a request whose user/),
    ]);
  });

  describe('the ways out', () => {
    it('guard: false, and the guard behind the authentication', async () => {
      await using app = await begin([guardedBy([AuthGuard, RateLimitGuard])], { guard: false });
      expect(await fourUsers(app)).toEqual([200, 200, 200, 200]);
      expect(warnings(app)).toEqual([]);
      await using wrong = await begin([guardedBy([RateLimitGuard, AuthGuard])], { guard: false });
      expect(warnings(wrong)).toEqual([AT_BOOT]);
    });

    it('a middleware that authenticates', async () => {
      const limit = RateLimitModule.forRoot({ identity: IDENTITY });
      await using app = await start(
        platform,
        { imports: [limit], controllers: [guardedBy([RolesGuard])] },
        {
          configure: (nest) =>
            nest.use((request: Authenticated & { raw?: Authenticated }, _: unknown, next: () => void) => {
              request.user = { id: request.headers['x-user'] ?? 'nobody' };
              next();
            }),
        },
      );
      // Over Fastify a middleware gets Node's request, and the resolver above reads Fastify's.
      expect(await fourUsers(app)).toEqual(platform === 'Express' ? [200, 200, 200, 200] : [200, 200, 429, 429]);
      expect(warnings(app)).toEqual([]);
    });
  });

  describe('raises no alarm', () => {
    it('for resolvers that need no guard: a header, or a token that they verify themselves', async () => {
      await using header = await begin([guardedBy([AuthGuard])], { identity: [userIdentity(), ipIdentity()] });
      expect(warnings(header)).toEqual([]);
      const verifies: IdentityResolver = {
        kind: 'user',
        resolve: async ({ headers }: Authenticated) => {
          await Promise.resolve();
          return headers['x-user'];
        },
      };
      await using verified = await begin([guardedBy([AuthGuard])], { identity: [verifies, ipIdentity()] });
      expect(await fourUsers(verified)).toEqual([200, 200, 200, 200]);
      expect(warnings(verified)).toEqual([]);
    });

    it('for policies of addresses, and at boot for those that say that addresses are right', async () => {
      await using addresses = await begin([guardedBy([AuthGuard], { ...TWO, by: 'ip' })]);
      expect(await fourUsers(addresses)).toEqual([200, 200, 429, 429]);
      expect(warnings(addresses)).toEqual([]);
      await using optional = await begin([guardedBy([AuthGuard], { ...BY_USER, onMissingIdentity: 'ip' })]);
      expect(warnings(optional)).toEqual([]);
    });
  });
});
