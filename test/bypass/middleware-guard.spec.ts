import { Controller, type ExecutionContext, Get, HttpException, Inject, Injectable } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { type Decision, RateLimiter, RateLimitGuard, RateLimitModule } from 'nestjs-floodgate';
import { limitHeaders, PLATFORMS, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';

@Controller()
class Routes {
  @Get()
  get(): void {}
}

@Injectable()
class OwnGuard extends RateLimitGuard {
  // A subclass may have a constructor with dependencies of its own.
  constructor(@Inject(RateLimiter) private readonly limiter: RateLimiter) {
    super();
  }

  protected override shouldSkip(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string | undefined> }>();
    return headers['x-internal'] === 'yes' && this.limiter instanceof RateLimiter;
  }

  protected override setHeaders(context: ExecutionContext, decision: Decision): void {
    const response = context.switchToHttp().getResponse<unknown>();
    this.adapterHost.httpAdapter.setHeader(response, 'X-Left', String(decision.policies[0]!.remaining));
  }

  protected override refuse(): never {
    throw new HttpException('calm down', 420);
  }
}

describe.each(PLATFORMS)("the module's middleware over %s", (platform) => {
  const options = () => ({
    store: new StillStore(),
    middleware: [{ name: 'address', algorithm: 'token-bucket', capacity: 2, refill: '1/h' } as const],
    guard: false,
  });

  it.each<[string, object[], boolean]>([
    ['as APP_GUARD', [{ provide: APP_GUARD, useClass: OwnGuard }], false],
    ['with useGlobalGuards', [OwnGuard], true],
    ['as a provider, for @UseGuards', [OwnGuard], false],
  ])('rejects, sets headers and skips as a guard subclass that is bound %s', async (_, providers, globally) => {
    await using app = await start(
      platform,
      { imports: [RateLimitModule.forRoot(options())], controllers: [Routes], providers: providers as [] },
      { configure: (nest) => void (globally && nest.useGlobalGuards(nest.get(OwnGuard))) },
    );
    const internal = { headers: { 'X-Internal': 'yes' } };
    const replies = [];
    for (const path of ['/', '/nothing', '/', '/nothing']) replies.push(await app.send(path));
    expect(replies.map(({ status, headers }) => [status, headers['x-left']])).toEqual([
      [200, '1'],
      [404, '0'],
      [420, '0'],
      [420, '0'],
    ]);
    expect(replies.flatMap(limitHeaders)).toEqual([]);
    expect([(await app.send('/', internal)).status, (await app.send('/nothing', internal)).status]).toEqual([200, 404]);
  });

  it("leaves the answer to the library's guard when that is bound for all routes and the subclass is only provided", async () => {
    await using app = await start(platform, {
      imports: [RateLimitModule.forRoot({ ...options(), guard: true })],
      controllers: [Routes],
      providers: [OwnGuard],
    });
    const internal = { headers: { 'X-Internal': 'yes' } };
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await app.send('/nothing', internal)).status);
    expect(statuses).toEqual([404, 404, 429]);
  });

  it('answers 500 when a guard was made with new: the log says that Nest injected nothing', async () => {
    await using app = await start(
      platform,
      { imports: [RateLimitModule.forRoot(options())], controllers: [Routes], providers: [] },
      { configure: (nest) => void nest.useGlobalGuards(new OwnGuard(nest.get(RateLimiter))) },
    );
    expect((await app.send('/')).status).toBe(500);
    expect(app.logs.of('error').join()).toContain('OwnGuard: was made with new, so that Nest injected nothing');
  });

  it("rejects and sets headers as the library's guard when there is no subclass", async () => {
    await using app = await start(platform, { imports: [RateLimitModule.forRoot(options())], controllers: [Routes] });
    const replies = [];
    for (let i = 0; i < 3; i++) replies.push(await app.send('/nothing'));
    expect(replies.map((reply) => [reply.status, limitHeaders(reply).length])).toEqual([
      [404, 3],
      [404, 3],
      [429, 3],
    ]);
  });
});
