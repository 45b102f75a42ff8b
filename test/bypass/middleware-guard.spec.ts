import {
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  Inject,
  Injectable,
  type Provider,
  Scope,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { type Decision, RateLimiter, RateLimitGuard, RateLimitModule } from 'nestjs-floodgate';
import { type AppSettings, type HttpApp, limitHeaders, PLATFORMS, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

@Controller()
class Routes {
  @Get()
  get(): void {}
}

const isInternal = (context: ExecutionContext): boolean =>
  context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-internal'] === 'yes';
const INTERNAL = { headers: { 'X-Internal': 'yes' } };

@Injectable()
class OwnGuard extends RateLimitGuard {
  // A subclass may have a constructor with dependencies of its own.
  constructor(@Inject(RateLimiter) private readonly limiter: RateLimiter) {
    super();
  }

  protected override shouldSkip(context: ExecutionContext): boolean {
    return isInternal(context) && this.limiter instanceof RateLimiter;
  }

  protected override setHeaders(context: ExecutionContext, decision: Decision): void {
    const response = context.switchToHttp().getResponse<unknown>();
    this.adapterHost.httpAdapter.setHeader(response, 'X-Left', String(decision.policies[0]!.remaining));
  }

  protected override refuse(): never {
    throw new HttpException('calm down', 420);
  }
}

/** A subclass of this scope. */
function subclassOf(scope: Scope): new () => RateLimitGuard {
  @Injectable({ scope })
  class AnewGuard extends RateLimitGuard {
    protected override shouldSkip(context: ExecutionContext): boolean {
      return isInternal(context);
    }
  }
  return AnewGuard;
}

const limits = (guard = false) =>
  RateLimitModule.forRoot({
    store: new StillStore(),
    middleware: [{ name: 'address', algorithm: 'token-bucket', capacity: 2, refill: '1/h' }],
    guard,
  });

describe.each(PLATFORMS)("the module's middleware over %s", (platform) => {
  const open = (providers: Provider[], guard = false, configure?: AppSettings['configure']): Promise<HttpApp> =>
    start(
      platform,
      { imports: [limits(guard)], controllers: [Routes], providers },
      { ...(configure && { configure }) },
    );

  it.each<[string, Provider[], boolean]>([
    ['as APP_GUARD', [{ provide: APP_GUARD, useClass: OwnGuard }], false],
    ['with useGlobalGuards', [OwnGuard], true],
    ['as a provider, for @UseGuards', [OwnGuard], false],
  ])('rejects, sets headers and skips as a guard subclass that is bound %s', async (_, providers, globally) => {
    await using app = await open(providers, false, (nest) => {
      if (globally) nest.useGlobalGuards(nest.get(OwnGuard));
    });
    const replies = [];
    for (const path of ['/', '/nothing', '/', '/nothing']) replies.push(await app.send(path));
    expect(replies.map(({ status, headers }) => [status, headers['x-left']])).toEqual([
      [200, '1'],
      [404, '0'],
      [420, '0'],
      [420, '0'],
    ]);
    expect(replies.flatMap(limitHeaders)).toEqual([]);
    expect([(await app.send('/', INTERNAL)).status, (await app.send('/nothing', INTERNAL)).status]).toEqual([200, 404]);
  });

  it("leaves the answer to the library's guard when that is bound for all routes and the subclass is only provided", async () => {
    await using app = await open([OwnGuard], true);
    const replies = [];
    for (let i = 0; i < 3; i++) replies.push(await app.send('/nothing', INTERNAL));
    expect(replies.map((reply) => [reply.status, limitHeaders(reply).length])).toEqual([
      [404, 3],
      [404, 3],
      [429, 3],
    ]);
  });

  it('answers 500 when a guard was made with new: the log says that Nest injected nothing', async () => {
    await using app = await open([], false, (nest) => {
      nest.useGlobalGuards(new OwnGuard(nest.get(RateLimiter)));
    });
    expect((await app.send('/')).status).toBe(500);
    expect(app.logs.of('error').join()).toContain('OwnGuard: was made with new, so that Nest injected nothing');
  });

  it.each<[string, Scope, (guard: new () => RateLimitGuard) => Provider[]]>([
    ['request-scoped provider', Scope.REQUEST, (guard) => [guard]],
    ['request-scoped APP_GUARD', Scope.REQUEST, (useClass) => [{ provide: APP_GUARD, useClass }]],
    ['transient provider', Scope.TRANSIENT, (guard) => [guard]],
  ])(
    "has the library's answers where Nest makes the guard anew, and boot says so: a %s",
    async (_, scope, providers) => {
      await using app = await open(providers(subclassOf(scope)));
      expect(app.logs.of('warn')).toEqual([
        'RateLimitModule, middleware: AnewGuard does not answer for it, because Nest makes that guard anew for each request or ' +
          'place: give it the default scope RateLimit',
      ]);
      const replies = [await app.send('/'), await app.send('/', INTERNAL), await app.send('/nothing', INTERNAL)];
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 429]);
    },
  );
});
