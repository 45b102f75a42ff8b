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
  userIdentity,
} from 'nestjs-floodgate';
import { type HttpApp, PLATFORMS, start } from '../../support/http-app.js';

interface Authenticated {
  readonly headers: Readonly<Record<string, string | undefined>>;
  user?: { readonly id: string };
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

const LATE =
  "RidesController.list: policy 'rider' counted the address of a request whose user was found later, because the rate limit's guard runs " +
  'before authentication. Let authentication run first: an APP_GUARD of the root module, or of a module that is imported before RateLimitModule; ' +
  'or guard: false in RateLimitModule and @UseGuards(AuthGuard, RateLimitGuard); or a middleware that authenticates';

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

  it.each([AuthGuard, Gatekeeper])('is found and counted by requests: %p', async (guard) => {
    await using app = await begin([guardedBy([guard])]);
    expect(warnings(app)).toEqual([]);
    expect(missing(app)).toEqual([{ policy: 'rider', requests: 0 }]);
    expect(await fourUsers(app)).toEqual([200, 200, 429, 429]);
    expect(missing(app)).toEqual([{ policy: 'rider', requests: 4 }]);
    expect(warnings(app)).toEqual([LATE]);
  });

  it('is found behind a global guard of the rate limit: the order of the modules', async () => {
    @Module({ providers: [{ provide: APP_GUARD, useClass: AuthGuard }] })
    class AuthModule {}
    const limit = RateLimitModule.forRoot({ identity: IDENTITY });
    await using late = await begin([guardedBy([])], {}, { imports: [limit, AuthModule] });
    await fourUsers(late);
    expect(warnings(late)).toEqual([LATE]);
    await using early = await begin([guardedBy([RolesGuard])], {}, { imports: [AuthModule, limit] });
    expect(await fourUsers(early)).toEqual([200, 200, 200, 200]);
    expect(warnings(early)).toEqual([]);
  });

  it('is found in the middleware, which runs before all guards', async () => {
    await using app = await begin([guardedBy([Gatekeeper], { ...TWO, name: 'own', by: 'ip', limit: 9 })], {
      middleware: [BY_USER],
    });
    await fourUsers(app);
    expect(warnings(app)).toEqual([
      "RateLimitModule, middleware: policy 'rider' counted the address of a request whose user was found later. The middleware runs " +
        "before authentication: count addresses there (by: 'ip'), and the others on routes",
    ]);
  });

  describe('the ways out', () => {
    it('guard: false, and the guard behind the authentication', async () => {
      await using app = await begin([guardedBy([AuthGuard, RateLimitGuard])], { guard: false });
      expect(await fourUsers(app)).toEqual([200, 200, 200, 200]);
      expect(warnings(app)).toEqual([]);
      await using wrong = await begin([guardedBy([RateLimitGuard, AuthGuard])], { guard: false });
      await fourUsers(wrong);
      expect(warnings(wrong)).toEqual([LATE]);
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

    it('for policies of addresses', async () => {
      await using addresses = await begin([guardedBy([AuthGuard], { ...TWO, by: 'ip' })]);
      expect(await fourUsers(addresses)).toEqual([200, 200, 429, 429]);
      expect(warnings(addresses)).toEqual([]);
    });
  });
});
