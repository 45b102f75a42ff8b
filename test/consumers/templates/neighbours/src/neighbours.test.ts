import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import { unwrapResolverError } from '@apollo/server/errors';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import {
  type CanActivate,
  Controller,
  Get,
  HttpException,
  type INestApplication,
  Injectable,
  Module,
  type ModuleMetadata,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GraphQLModule, Query, Resolver } from '@nestjs/graphql';
import { AuthGuard, PassportStrategy } from '@nestjs/passport';
import { ClsModule } from 'nestjs-cls';
import { ipIdentity, RateLimit, RateLimitGuard, RateLimitModule, type RateLimitRequest } from 'nestjs-floodgate';
import { ExtractJwt, Strategy } from 'passport-jwt';

const ONE = { algorithm: 'fixed-window', limit: 1, window: '1h' } as const;

@Controller()
class Cats {
  @Get('cats')
  @RateLimit({ name: 'cats', ...ONE })
  list(): string[] {
    return [];
  }
}

@Injectable()
class JwtStrategy extends PassportStrategy(Strategy) {
  constructor() {
    super({ jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken(), secretOrKey: 'secret' });
  }

  validate({ sub }: { sub: string }): { id: string } {
    return { id: sub };
  }
}

function ridesBehind(...guards: Type<CanActivate>[]): Type {
  @Controller()
  @UseGuards(...guards)
  class Rides {
    @Get('rides')
    @RateLimit({ name: 'rides', ...ONE, by: 'user' })
    list(): string[] {
      return [];
    }
  }
  return Rides;
}

@Resolver()
class Dogs {
  @Query(() => String)
  @RateLimit({ name: 'dogs', ...ONE })
  dog(): string {
    return 'Rex';
  }

  @Query(() => String)
  broken(): string {
    throw new Error('the password of the database');
  }
}

const GRAPHQL = GraphQLModule.forRoot<ApolloDriverConfig>({
  driver: ApolloDriver,
  autoSchemaFile: true,
  formatError: (shown, error) =>
    unwrapResolverError(error) instanceof HttpException ? shown : { message: 'Internal server error' },
});

/** Boots an application with nestjs-cls, some of whose providers are proxies that throw. */
async function boot(
  t: TestContext,
  options: Parameters<typeof RateLimitModule.forRoot>[0],
  { imports = [], ...more }: ModuleMetadata,
): Promise<{ readonly url: string; readonly warnings: readonly string[] }> {
  @Module({
    imports: [
      ClsModule.forRoot({ global: true, middleware: { mount: true } }),
      RateLimitModule.forRoot(options),
      ...imports,
    ],
    ...more,
  })
  class AppModule {}
  const warnings: string[] = [];
  const logger = { log() {}, warn: (text: string) => void warnings.push(text), error() {} };
  const app: INestApplication = await NestFactory.create(AppModule, { logger, abortOnError: false });
  t.after(() => app.close());
  await app.listen(0, '127.0.0.1');
  return { url: await app.getUrl(), warnings };
}

test('nestjs-cls: the application boots, and a limit holds', async (t) => {
  const { url } = await boot(t, {}, { controllers: [Cats] });
  const statuses: number[] = [];
  for (let i = 0; i < 2; i++) statuses.push((await fetch(`${url}/cats`)).status);
  assert.deepEqual(statuses, [200, 429]);
});

test("Passport: a request warns of AuthGuard('jwt') behind the module's guard, and not before RateLimitGuard", async (t) => {
  const identity = [
    { kind: 'user', resolve: ({ user }: RateLimitRequest<{ user?: { id: string } }>) => user?.id },
    ipIdentity(),
  ];
  const part = (of: object): string => Buffer.from(JSON.stringify(of)).toString('base64url');
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub: 'ada' })}`;
  const headers = {
    authorization: `Bearer ${signed}.${createHmac('sha256', 'secret').update(signed).digest('base64url')}`,
  };
  for (const isLate of [true, false]) {
    const guards = isLate ? [AuthGuard('jwt')] : [AuthGuard('jwt'), RateLimitGuard];
    const { url, warnings } = await boot(
      t,
      { identity, guard: isLate },
      { controllers: [ridesBehind(...guards)], providers: [JwtStrategy] },
    );
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) statuses.push((await fetch(`${url}/rides`, { headers })).status);
    assert.deepEqual(statuses, [200, 429, 429]);
    assert.equal(
      warnings.some((text) => text.includes('fg_identity_late')),
      isLate,
    );
  }
});

test('GraphQL: a formatter that masks what is no HttpException shows a rejection', async (t) => {
  const { url } = await boot(t, {}, { imports: [GRAPHQL], providers: [Dogs] });
  const messageOf = async (field: string): Promise<string | undefined> => {
    const body = JSON.stringify({ query: `{ ${field} }` });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/graphql`, { method: 'POST', headers, body });
    return ((await response.json()) as { errors?: { message: string }[] }).errors?.[0]?.message;
  };
  assert.equal(await messageOf('broken'), 'Internal server error');
  assert.equal(await messageOf('dog'), undefined);
  assert.match((await messageOf('dog'))!, /^Too many requests, retry in \d+ seconds$/);
});
