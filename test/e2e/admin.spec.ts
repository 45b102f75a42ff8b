import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  Post,
  ValidationPipe,
} from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it, jest } from '@jest/globals';
import {
  type Policy,
  RateLimit,
  RateLimitAdminModule,
  type RateLimitAdminOptions,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
} from 'nestjs-floodgate';
import { type AppSettings, FROM_HEADERS, type HttpApp, type Platform, PLATFORMS, start } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';

jest.setTimeout(20_000);

const DAILY: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 2, window: '300d', by: 'user' };
const ADA = { kind: 'user', value: 'ada-lovelace' };
const TOKEN = 'let-me-in';

/** What the guard injects comes from a module of its own. */
@Injectable()
class Operators {
  readonly byToken = new Map([[TOKEN, 'eve@example.com']]);
}

@Module({ providers: [Operators], exports: [Operators] })
class OperatorsModule {}

@Injectable()
class SupportGuard implements CanActivate {
  constructor(private readonly operators: Operators) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<{ headers: Record<string, string>; operator?: string }>();
    request.operator = this.operators.byToken.get(request.headers.authorization ?? '');
    return request.operator !== undefined;
  }
}

@Controller('rides')
class Rides {
  @Post()
  @RateLimit(DAILY, { name: 'all', algorithm: 'token-bucket', capacity: 1000, refill: 1, by: 'global' })
  request(): string {
    return 'ok';
  }

  @Get('bare')
  bare(): void {}
}

const LIMITS = 'admin/limits';
const GUARDED: RateLimitAdminOptions = { guards: [SupportGuard], imports: [OperatorsModule] };

function serve(
  platform: Platform,
  options: RateLimitModuleOptions = {},
  admin: RateLimitAdminOptions = GUARDED,
  settings?: AppSettings,
): Promise<HttpApp> {
  const imports = [
    RateLimitModule.forRoot({ identity: FROM_HEADERS, ...options }),
    RateLimitAdminModule.register(admin),
  ];
  return start(platform, { imports, controllers: [Rides] }, settings);
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line no-explicit-any -- what a REST client sees
  readonly body: any;
}

/** As a REST client with the operator's token. */
async function ask(http: HttpApp, method: string, path: string, body?: unknown, token = TOKEN): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${http.port}/${path}`, {
    method,
    headers: { Authorization: token, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}

const redis = useRedis();
const STORES: [string, () => RateLimitModuleOptions][] = [
  ['the memory store', () => ({})],
  ['Redis', () => ({ redis: redis.server.url })],
];
const CASES = PLATFORMS.flatMap((platform) => STORES.map(([store, options]) => [platform, store, options] as const));

describe.each(CASES)('the endpoints over %s with %s', (platform, _store, options) => {
  it('tell why a user got a 429, and unblock them', async () => {
    await using http = await serve(platform, options());
    const ride = async (user = ADA.value): Promise<number> =>
      (await http.as(user, '/rides', { method: 'POST' })).status;
    expect([await ride(), await ride(), await ride()]).toEqual([201, 201, 429]);

    const why = await ask(http, 'POST', `${LIMITS}/explain`, { identity: ADA, route: 'POST /rides' });
    expect(why).toMatchObject({ status: 200, body: { identity: 'user:ada-lovelace', isRejected: true } });
    const [daily, all] = why.body.policies;
    expect(daily).toMatchObject({
      policy: 'daily',
      outcome: 'rejected',
      level: { limit: 2, used: 2 },
      decidedBy: 'store',
    });
    expect(Date.parse(why.body.passesAt)).toBeGreaterThan(Date.now());
    expect(all).toMatchObject({ policy: 'all', outcome: 'passes' });
    expect(await ask(http, 'POST', `${LIMITS}/explain`, { identity: 'user:ada-lovelace' })).toMatchObject({
      body: { isRejected: true, route: null, policies: [{ policy: 'daily', isRejected: true }, { policy: 'all' }] },
    });

    // Now: what was counted goes.
    const reset = await ask(http, 'POST', `${LIMITS}/reset`, { identity: ADA, route: 'POST /rides' });
    expect(reset).toMatchObject({ status: 200, body: { cleared: [{ policy: 'daily', scope: 'POST /rides' }] } });
    expect([await ride(), await ride(), await ride()]).toEqual([201, 201, 429]);

    // For today: another limit.
    const target = { policy: 'daily', identity: ADA };
    const set = await ask(http, 'PUT', `${LIMITS}/overrides`, {
      ...target,
      change: { limit: 4 },
      expiresIn: '24h',
      reason: 'ticket 7',
      author: 'eve',
      ifVersion: 0,
    });
    expect(set).toMatchObject({ status: 200, body: { change: { limit: 4 }, reason: 'ticket 7', author: 'eve' } });
    expect([await ride(), await ride(), await ride()]).toEqual([201, 201, 429]);
    const { body } = await ask(http, 'POST', `${LIMITS}/explain`, { identity: ADA, route: 'Rides.request' });
    expect(body.policies[0]).toMatchObject({
      numbers: { limit: 4, window: '300d' },
      override: { version: set.body.version, reason: 'ticket 7', author: 'eve', isComplete: true },
    });
    expect(await ride('bob')).toBe(201);

    // Two operators at once: the second one reads again.
    const late = await ask(http, 'PUT', `${LIMITS}/overrides`, { ...target, change: { limit: 9 }, ifVersion: 0 });
    expect(late).toMatchObject({
      status: 409,
      body: { error: 'version_conflict', expectedVersion: 0, actualVersion: set.body.version },
    });
    expect(await ask(http, 'POST', `${LIMITS}/overrides/find`, target)).toMatchObject({ status: 200, body: set.body });
    expect(await ask(http, 'GET', `${LIMITS}/overrides`)).toMatchObject({ status: 200, body: { items: [set.body] } });

    const removal = { ...target, author: 'eve', reason: 'done', ifVersion: set.body.version };
    expect(await ask(http, 'POST', `${LIMITS}/overrides/remove`, removal)).toMatchObject({ body: { removed: true } });
    expect(await ask(http, 'POST', `${LIMITS}/overrides/remove`, target)).toMatchObject({ status: 404 });
    expect(await ask(http, 'POST', `${LIMITS}/overrides/find`, target)).toMatchObject({
      status: 404,
      body: { statusCode: 404, error: 'not_found', message: expect.stringContaining('no override') },
    });
    const history = await ask(http, 'POST', `${LIMITS}/overrides/history`, target);
    expect(history.body.items).toMatchObject([
      { action: 'removed', reason: 'done' },
      { action: 'set', reason: 'ticket 7' },
    ]);
    // Neither requests nor failures leave the client's name in the log.
    expect(http.logs.text).not.toContain('ada-lovelace');
  });

  it('show overrides and their history in pages', async () => {
    await using http = await serve(platform, options());
    const overrides = http.app.get(RateLimitOverrides);
    for (let i = 0; i < 5; i++) await overrides.set({ policy: 'daily', identity: `user:u${i}` }, { limit: 10 + i });
    for (const path of ['overrides', 'overrides/history']) {
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const more = cursor === undefined ? '' : `&cursor=${cursor}`;
        const { status, body } = await ask(http, 'GET', `${LIMITS}/${path}?limit=2${more}`);
        expect([status, body.items.length <= 2]).toEqual([200, true]);
        seen.push(...body.items.map(({ identity }: { identity: string }) => identity));
        cursor = body.cursor;
      } while (cursor !== undefined);
      expect(seen.toSorted()).toEqual(['user:u0', 'user:u1', 'user:u2', 'user:u3', 'user:u4']);
    }
  });
});

describe.each(PLATFORMS)('the endpoints over %s', (platform) => {
  it('let nobody in whom the guard does not know, and answer nobody from a cache', async () => {
    await using http = await serve(platform);
    for (const [method, path] of [
      ['GET', 'table'],
      ['POST', 'explain'],
      ['POST', 'reset'],
      ['GET', 'overrides'],
      ['PUT', 'overrides'],
      ['POST', 'overrides/find'],
      ['POST', 'overrides/remove'],
      ['GET', 'overrides/history'],
      ['POST', 'overrides/history'],
    ] as const) {
      const body = method === 'GET' ? undefined : { identity: ADA, policy: 'daily' };
      expect((await ask(http, method, `${LIMITS}/${path}`, body, 'wrong')).status).toBe(403);
      const { status, headers } = await ask(http, method, `${LIMITS}/${path}`, body);
      expect([path, status]).not.toEqual([path, 403]);
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  it('are where path says, behind prefix and whatever the versions, and are not limited by defaults', async () => {
    const defaults: Policy[] = [{ name: 'default', algorithm: 'token-bucket', capacity: 1, refill: '1/d' }];
    const settings: AppSettings = {
      configure: (app) => void app.setGlobalPrefix('api').enableVersioning({ type: 0, defaultVersion: '1' }),
    };
    await using http = await serve(platform, { defaults }, { ...GUARDED, path: '/ops/limits' }, settings);
    for (let i = 0; i < 3; i++) {
      const { status, body } = await ask(http, 'GET', 'api/ops/limits/table?limited=true');
      expect(status).toBe(200);
      expect(body.routes.map(({ route }: { route: string }) => route)).toEqual(['POST /rides', 'GET /rides/bare']);
    }
    const gaps = await ask(http, 'GET', 'api/ops/limits/table?limited=false');
    expect(gaps.body.routes[0]).toMatchObject({ handler: 'RateLimitAdminController.table', origin: 'skipped' });
  });

  it('take their bodies through a strict ValidationPipe of the application', async () => {
    const pipe = new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true });
    await using http = await serve(platform, {}, GUARDED, { configure: (app) => void app.useGlobalPipes(pipe) });
    const override = { policy: 'daily', identity: ADA, change: { limit: 7 } };
    expect(await ask(http, 'PUT', `${LIMITS}/overrides`, override)).toMatchObject({
      status: 200,
      body: { change: { limit: 7 } },
    });
    expect((await ask(http, 'GET', `${LIMITS}/overrides?limit=1`)).body.items).toHaveLength(1);
  });

  it('never show an API key', async () => {
    await using http = await serve(platform);
    const identity = { kind: 'api-key', value: 'secret-of-a-customer' };
    const explained = await ask(http, 'POST', `${LIMITS}/explain`, { identity });
    await ask(http, 'PUT', `${LIMITS}/overrides`, { policy: 'daily', identity, change: { exempt: true } });
    const listed = await ask(http, 'GET', `${LIMITS}/overrides`);
    expect(explained.body.identity).toMatch(/^key:#[\w-]{22}$/);
    expect(listed.body.items).toMatchObject([{ identity: explained.body.identity }]);
    const wrong = await ask(http, 'POST', `${LIMITS}/explain`, { identity, route: 'GET /nowhere' });
    expect(JSON.stringify([explained.body, listed.body, wrong.body]) + http.logs.text).not.toContain('secret-of');
  });

  it('take the author from the request where the application says who makes it', async () => {
    interface Asked {
      readonly operator?: string;
    }
    await using http = await serve(platform, {}, { ...GUARDED, author: (request: Asked) => request.operator! });
    const override = { policy: 'daily', identity: ADA, change: { exempt: true } };
    expect(await ask(http, 'PUT', `${LIMITS}/overrides`, override)).toMatchObject({
      body: { author: 'eve@example.com' },
    });
    expect(await ask(http, 'PUT', `${LIMITS}/overrides`, { ...override, author: 'mallory' })).toMatchObject({
      status: 400,
      body: { message: 'The body: author must be left out: the application says who makes the request' },
    });
    await using nameless = await serve(platform, {}, { ...GUARDED, author: () => undefined as unknown as string });
    expect((await ask(nameless, 'PUT', `${LIMITS}/overrides`, override)).status).toBe(500);
    expect(nameless.logs.of('error').join()).toContain('author must return text, got undefined');
  });

  const TARGET = { policy: 'daily', identity: ADA };
  const RIGHT = { ...TARGET, change: { limit: 3 } };

  it.each<[status: number, request: string, body: unknown, message: string]>([
    [400, 'POST explain', undefined, 'The body: must be a JSON object (Content-Type: application/json), got'],
    [400, 'POST explain', [], 'must be a JSON object (Content-Type: application/json), got an array'],
    [400, 'POST explain', {}, "identity must be { kind, value } or a tag such as 'user:rider-1', got undefined"],
    [400, 'POST explain', { identity: 'ada' }, "such as 'user:rider-1', got 'ada'"],
    [400, 'POST explain', { identity: { kind: 'User', value: 'a' } }, 'its kind must be 1 to 16 of a-z'],
    [400, 'POST explain', { identity: { kind: 'user', value: 7.5 } }, 'its value must be a string'],
    [400, 'POST explain', { identity: ADA, ruote: 'x' }, "'ruote' is not an option. Did you mean route?"],
    [400, 'POST explain', { identity: ADA, route: 7 }, 'route must be text, got 7'],
    [400, 'POST explain', { identity: ADA, plan: 'pro' }, 'plan has no effect'],
    [400, 'POST explain', { identity: ADA, plan: {} }, 'plan must be the name of a plan'],
    [
      404,
      'POST explain',
      { identity: ADA, route: 'POST /ridse' },
      "there is no route named 'POST /ridse'. Did you mean 'POST /rides'?",
    ],
    [
      400,
      'POST reset',
      { identity: ADA },
      "give either route, such as 'POST /rides', or the name of a policy, got neither",
    ],
    [400, 'POST reset', { identity: ADA, route: 'a', policy: 'b' }, 'got both'],
    [400, 'POST reset', { policy: 'daily' }, 'identity must be'],
    [404, 'POST reset', { identity: ADA, policy: 'dialy' }, "there is no policy named 'dialy'. Did you mean 'daily'?"],
    [404, 'POST reset', { identity: ADA, route: 'GET /' }, "there is no route named 'GET /'"],
    [400, 'PUT overrides', TARGET, 'change is missing'],
    [400, 'PUT overrides', { ...RIGHT, identity: undefined }, "identity is missing: policy 'daily' counts each client"],
    [400, 'PUT overrides', { ...RIGHT, policy: undefined }, 'policy must be text of 1 to 64 characters'],
    [400, 'PUT overrides', { ...RIGHT, policy: 7 }, 'policy must be text of 1 to 64 characters in one line, got 7'],
    [404, 'PUT overrides', { ...RIGHT, policy: 'dialy' }, "there is no policy named 'dialy'. Did you mean 'daily'?"],
    [400, 'PUT overrides', { ...RIGHT, scope: 'GET /' }, "policy 'daily' has no scope 'GET /'"],
    [400, 'PUT overrides', { ...RIGHT, change: { limit: 0 } }, 'limit must be a whole number from 1'],
    [400, 'PUT overrides', { ...RIGHT, change: { limit: '5' } }, "got '5'"],
    [400, 'PUT overrides', { ...RIGHT, change: { capacity: 5 } }, "'capacity' is not an option of fixed-window"],
    [400, 'PUT overrides', { ...RIGHT, change: {} }, 'the numbers must be an object with some of those in'],
    [400, 'PUT overrides', { ...RIGHT, change: 'exempt' }, 'a change must be an object such as { capacity: 100 }'],
    [
      400,
      'PUT overrides',
      { ...RIGHT, change: { exempt: true, limit: 3 } },
      'a change must be numbers, { exempt: true }',
    ],
    [
      400,
      'PUT overrides',
      { ...RIGHT, expiresIn: 'soon' },
      "expiresIn must be milliseconds or a duration such as '24h'",
    ],
    [400, 'PUT overrides', { ...RIGHT, ifVersion: -1 }, 'ifVersion must be a whole number from 0, got -1'],
    [400, 'PUT overrides', { ...RIGHT, reason: 'x'.repeat(501) }, 'reason must be text of up to 500 characters'],
    [400, 'PUT overrides', { ...RIGHT, author: 7 }, 'author must be text of up to 100 characters, got 7'],
    [400, 'PUT overrides', '{"policy":"daily","__proto__":{"identity":"user:a"}}', ''],
    [400, 'PUT overrides', '{', ''],
    [400, 'POST overrides/find', { policy: 'daily', change: {} }, "'change' is not an option"],
    [400, 'POST overrides/remove', { ...TARGET, expiresIn: '1h' }, "'expiresIn' is not an option"],
    [400, 'POST overrides/history', { ...TARGET, limit: 0 }, 'limit must be a whole number from 1 to 1000, got 0'],
    [400, 'GET overrides?limit=1001', undefined, 'limit must be a whole number from 1 to 1000, got 1001'],
    [400, 'GET overrides?limit=many', undefined, "limit must be a whole number from 1 to 1000, got 'many'"],
    [400, 'GET overrides?limit=1&limit=2', undefined, 'The query: limit must be given once'],
    [400, 'GET overrides?cursor=x', undefined, "cursor must be the cursor of a page, got 'x'"],
    [400, 'GET overrides?page=2', undefined, "'page' is not an option"],
    [400, 'GET overrides/history?limit=', undefined, 'limit must be a whole number'],
    [400, 'GET table?limited=yes', undefined, "limited must be true or false, got 'yes'"],
  ])('answer %i to %s with %j, and say what would be right', async (status, request, body, message) => {
    await using http = await serve(platform);
    const [method, path] = request.split(' ') as [string, string];
    const answer = await ask(http, method, `${LIMITS}/${path}`, body);
    expect(answer).toMatchObject({ status, body: { statusCode: status, message: expect.stringContaining(message) } });
    // Neither where in our code, nor the link for developers.
    expect(answer.body.message).not.toMatch(/RateLimitOverrides|RateLimiter\.|https:/);
    expect((await http.app.get(RateLimitOverrides).list()).items).toEqual([]);
    expect(http.logs.text).not.toContain('ada-lovelace');
  });
});

describe.each(PLATFORMS)('while Redis is away, the endpoints over %s', (platform) => {
  it('answer 503 where they need it, and go on explaining', async () => {
    await using http = await serve(platform, { redis: 'redis://127.0.0.1:1' });
    const set = await ask(http, 'PUT', `${LIMITS}/overrides`, { policy: 'daily', identity: ADA, change: { limit: 3 } });
    expect(set).toMatchObject({ status: 503, body: { error: 'rate_limit_unavailable' } });
    expect(set.headers.get('retry-after')).toBe('1');
    expect((await ask(http, 'POST', `${LIMITS}/reset`, { identity: ADA, policy: 'daily' })).status).toBe(503);
    const explained = await ask(http, 'POST', `${LIMITS}/explain`, { identity: ADA, route: 'POST /rides' });
    expect(explained).toMatchObject({
      status: 200,
      body: { policies: [{ decidedBy: 'local' }, { decidedBy: 'local' }] },
    });
    expect((await ask(http, 'GET', `${LIMITS}/table`)).status).toBe(200);
  });
});

describe('RateLimitAdminModule.register', () => {
  const register = (options: unknown) => () => RateLimitAdminModule.register(options as RateLimitAdminOptions);

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'got none: anybody could lift limits'],
    ['no guards', {}, 'guards must have at least one guard that knows the operators, such as [SupportGuard], got none'],
    ['an empty list', { guards: [] }, 'got none'],
    ['the limiting guard alone', { guards: [RateLimitGuard] }, 'got RateLimitGuard, which lets every client in'],
    ['a subclass of it alone', { guards: [class extends RateLimitGuard {}] }, 'got RateLimitGuard'],
    [
      'one guard outside of a list',
      { guards: SupportGuard },
      'guards must be an array such as [SupportGuard], got a function',
    ],
    [
      'undefined',
      { guards: [SupportGuard, undefined] },
      'guards[1] must be a class or an object with canActivate, got undefined (is it',
    ],
    ['no guard', { guards: [class {}] }, 'guards[0] must be a class or an object with canActivate, got a function'],
    ['a misspelt option', { guard: [SupportGuard] }, "'guard' is not an option. Did you mean guards?"],
    ['no path', { ...GUARDED, path: '' }, "path must be the path of a controller, such as 'admin/limits', got ''"],
    ['a pattern', { ...GUARDED, path: ':any' }, "got ':any'"],
    ['an author', { ...GUARDED, author: 'eve' }, "author must be a function of the request, got 'eve'"],
    ['one module', { ...GUARDED, imports: OperatorsModule }, 'imports must be an array of modules, got a function'],
    ['an array', [SupportGuard], 'options must be an object such as { guards: [SupportGuard] }, got an array'],
  ])('refuses %s', (_, options, message) => {
    expect(register(options)).toThrow(message);
    expect(register(options)).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^FG_(ADMIN_GUARD|INVALID_OPTION|UNKNOWN_OPTION)$/) }),
    );
  });

  it('has a code of its own without a guard', () => {
    expect(register({ guards: [] })).toThrow(expect.objectContaining({ code: 'FG_ADMIN_GUARD' }));
  });

  it('stops the boot without RateLimitModule, and where the class is imported without options', async () => {
    const boot = (imports: object[]) => start('Express', { imports: imports as never });
    await expect(boot([RateLimitAdminModule.register(GUARDED)])).rejects.toThrow(
      'RateLimitAdminModule: needs RateLimitModule to be imported, too',
    );
    await expect(boot([RateLimitModule.forRoot(), RateLimitAdminModule])).rejects.toThrow(
      'RateLimitAdminModule: is imported without options: import RateLimitAdminModule.register({ guards: [...] })',
    );
  });

  it('takes a guard that was made, and one beside the limiting one', async () => {
    const guard: CanActivate = { canActivate: () => true };
    await using http = await serve('Express', {}, { guards: [RateLimitGuard, guard] });
    expect((await ask(http, 'GET', `${LIMITS}/table`)).status).toBe(200);
  });
});

describe.each(PLATFORMS)('OpenAPI over %s', (platform) => {
  it('describes the endpoints with bodies, queries and answers, also of an application that boots twice', async () => {
    const documents: OpenAPIObject[] = [];
    const admin = RateLimitAdminModule.register(GUARDED);
    for (let i = 0; i < 2; i++) {
      await using http = await start(platform, { imports: [RateLimitModule.forRoot(), admin] });
      documents.push(SwaggerModule.createDocument(http.app, new DocumentBuilder().setTitle('x').build()));
    }
    const [document, again] = documents;
    expect(again).toEqual(document);
    expect(await new Validator().validate(structuredClone(document) as never)).toMatchObject({ valid: true });
    const operations = Object.entries(document!.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({
        name: `${method} ${path}`,
        operation: operation as Operation,
      })),
    );
    const described = operations.map(({ name, operation }) => [
      name,
      Object.keys(operation.requestBody?.content['application/json']?.schema.properties ?? {}).join(),
      (operation.parameters ?? []).map((parameter) => parameter.name).join(),
      Object.keys(operation.responses).join(),
    ]);
    expect(described).toEqual([
      ['get /admin/limits/table', '', 'limited', '200,400,503'],
      ['post /admin/limits/explain', 'identity,route,plan,timeZone', '', '200,400,404,503'],
      ['post /admin/limits/reset', 'identity,route,policy', '', '200,400,404,503'],
      ['get /admin/limits/overrides', '', 'cursor,limit', '200,400,503'],
      [
        'put /admin/limits/overrides',
        'policy,identity,scope,change,expiresIn,reason,author,ifVersion',
        '',
        '200,400,404,409,503',
      ],
      ['post /admin/limits/overrides/find', 'policy,identity,scope', '', '200,400,404,503'],
      [
        'post /admin/limits/overrides/remove',
        'policy,identity,scope,reason,author,ifVersion',
        '',
        '200,400,404,409,503',
      ],
      ['get /admin/limits/overrides/history', '', 'cursor,limit', '200,400,503'],
      ['post /admin/limits/overrides/history', 'policy,identity,scope,cursor,limit', '', '200,400,503'],
    ]);
    expect(operations.every(({ operation }) => operation.summary !== '' && operation.tags?.[0] === 'rate limits')).toBe(
      true,
    );
  });
});

interface Operation {
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly { readonly name: string }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: { readonly properties?: object } }> };
  readonly responses: object;
}
