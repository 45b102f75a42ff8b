import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv } from 'ajv';
import request from 'supertest';
import { apiDocument } from '../../src/docs/api-document.js';
import { serveDocs } from '../../src/docs/serve-docs.js';
import { Routes } from '../../src/limits/routes.js';
import { ELSEWHERE, GARDEN, ITINERARY, RIDE, ZONE } from './support/requests.js';
import { ServiceProcess } from './support/service-process.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

jest.setTimeout(60_000); // it is real time, and the machine may be busy

interface Answer {
  readonly description: string;
  readonly headers?: Readonly<Record<string, { readonly schema: object }>>;
  readonly content?: Readonly<Record<string, { readonly schema: { readonly $ref?: string } }>>;
}

interface Operation {
  readonly tags: readonly string[];
  readonly summary: string;
  readonly security?: readonly object[];
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, Answer>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

let service: Service;
afterEach(() => service?.app.close());

function documentOf({ app }: Service): Document {
  return apiDocument(app) as unknown as Document;
}

/** Each operation with its name, such as `GET /api/trips/{id}/summary`. */
function operationsOf({ paths }: Document): [name: string, operation: Operation][] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Operation] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  );
}

const having = (status: string, document: Document): string[] =>
  operationsOf(document)
    .filter(([, { responses }]) => responses[status] !== undefined)
    .map(([name]) => name)
    .toSorted();

/** Validates a value by a schema, which may refer to the document's components. */
function problems({ components }: Document, schema: object, value: unknown): unknown {
  const ajv = new Ajv({ strict: false });
  const valid = ajv.validate({ ...schema, components }, value);
  return valid ? null : ajv.errors;
}

/** A copy of the document whose schemas allow no property that they do not describe. */
function closed(document: Document): Document {
  const close = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(close);
    if (typeof value !== 'object' || value === null) return value;
    const copy = Object.fromEntries(Object.entries(value).map(([key, part]) => [key, close(part)]));
    return 'properties' in copy ? { additionalProperties: false, ...copy } : copy;
  };
  return close(document) as Document;
}

describe.each(PLATFORMS)("the API's document over %s", (platform) => {
  it('is valid, and has every route but those of the pages', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const document = documentOf(service);
    const { valid, errors } = await new Validator().validate(
      structuredClone(document) as unknown as Record<string, unknown>,
    );
    expect([valid, errors]).toEqual([true, undefined]);
    const routes = service.app.get(Routes, { strict: false }).all();
    const api = routes.filter(({ path }) => path !== '/' && !/^\/(control-room|playground)/.test(path));
    expect(
      operationsOf(document)
        .map(([name]) => name)
        .toSorted(),
    ).toEqual(api.map(nameOf).toSorted());
    for (const [name, { tags, summary }] of operationsOf(document)) {
      expect([name, tags.length, summary]).toEqual([name, 1, expect.stringMatching(/./)]);
    }
  });

  it('has a 429 on exactly the routes with limits', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const routes = service.app.get(Routes, { strict: false });
    const limited: string[] = [];
    for (const route of routes.all()) {
      const decision = await routes.peek(route, { kind: 'user', value: 'nobody' });
      if (decision.policies.length > 0) limited.push(nameOf(route));
    }
    expect(limited.length).toBeGreaterThan(10);
    expect(having('429', documentOf(service))).toEqual(limited.toSorted());
  });

  it('has none with RATE_LIMIT=off', async () => {
    service = await start(platform, { RATE_LIMIT: 'off' });
    expect(having('429', documentOf(service))).toEqual([]);
  });

  it('describes the 429 that a client gets', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const document = documentOf(service);
    const responses = await Promise.all(
      Array.from({ length: 30 }, () =>
        request(service.url).post('/api/rides/request').set('X-User-Id', 'rider-1').send(RIDE),
      ),
    );
    const { body, headers, type } = responses.find(({ status }) => status === 429)!;
    const described = document.paths['/api/rides/request']!['post']!.responses['429']!;
    expect(Object.keys(described.content!)).toEqual([type]);
    const { schema } = described.content![type]!;
    expect(schema).toEqual({ $ref: '#/components/schemas/RateLimitExceeded' });
    expect(problems(document, schema, body)).toBeNull();
    expect(problems(document, schema, { ...body, statusCode: 200 })).not.toBeNull();
    const sent = Object.keys(headers).filter((name) => /^(x-)?ratelimit|^retry-after/.test(name));
    // Only a rejection that is an estimate says so in a header.
    const ofEach = Object.entries(described.headers!).filter(([name]) => name !== 'X-RateLimit-Estimated');
    expect(ofEach.map(([name]) => name.toLowerCase()).toSorted()).toEqual(sent.toSorted());
    for (const [name, header] of ofEach) {
      expect(problems(document, header.schema, Number(headers[name.toLowerCase()]))).toBeNull();
    }
  });

  it('describes the 503 of matching', async () => {
    service = await start(platform, { MATCHING_WORKERS: '1', MATCHING_SERVICE_MS: '300', MATCHING_QUEUE: '0' });
    const document = documentOf(service);
    const estimate = (): request.Test => request(service.url).post('/api/fares/estimate').send(ITINERARY);
    const responses = await Promise.all([estimate(), estimate()]);
    const { body } = responses.find(({ status }) => status === 503)!;
    const { schema } = document.paths['/api/fares/estimate']!['post']!.responses['503']!.content!['application/json']!;
    expect(problems(document, schema, body)).toBeNull();
    for (const route of ['POST /api/rides/request', 'POST /api/fares/estimate', 'GET /api/drivers/nearby']) {
      expect(having('503', document)).toContain(route);
    }
  });

  it('describes the answers that clients get', async () => {
    service = await start(platform);
    const document = closed(documentOf(service));
    const of = (path: string): request.Test => request(service.url).get(path).set('X-User-Id', RIDE.rider_id);
    const sent = (method: 'post' | 'put', path: string, body: object): request.Test =>
      request(service.url)[method](path).set('X-User-Id', RIDE.rider_id).send(body);
    const ride = await sent('post', '/api/rides/request', RIDE);
    const { trip_id } = ride.body as { trip_id: string };
    service.clock.ms += 3_600_000; // the trip is over
    const answers: Readonly<Record<string, request.Response>> = {
      'POST /api/rides/request': ride,
      'POST /api/rides/request elsewhere': await sent('post', '/api/rides/request', ELSEWHERE),
      'POST /api/fares/estimate': await sent('post', '/api/fares/estimate', ITINERARY),
      'GET /api/drivers/nearby': await of('/api/drivers/nearby?lat=40.7505&lng=-73.9934'),
      'POST /api/drivers/location': await sent('post', '/api/drivers/location', { driver_id: 'driver-7', ...GARDEN }),
      'GET /api/trips/history': await of('/api/trips/history'),
      'GET /api/trips/{id}/summary': await of(`/api/trips/${trip_id}/summary`),
      'POST /api/trips/summaries': await sent('post', '/api/trips/summaries', { trip_ids: [trip_id] }),
      'POST /api/trips/{id}/tip': await sent('post', `/api/trips/${trip_id}/tip`, { amount_cents: 200 }),
      'GET /api/trips/export': await of('/api/trips/export'),
      'POST /api/login': await sent('post', '/api/login', { email: 'rider-1@example.com', password: 'open-sesame' }),
      'GET /api/admin/zones/stats': await of('/api/admin/zones/stats'),
      'PUT /api/admin/zones/{zone}/surge': await sent('put', `/api/admin/zones/${ZONE}/surge`, { factor: 1.5 }),
      'PUT /api/admin/riders/{id}/plan': await sent('put', '/api/admin/riders/rider-1/plan', { plan: 'plus' }),
      'GET /metrics': await of('/metrics'),
    };
    const asked = Object.keys(answers).map((name) => name.replace(' elsewhere', ''));
    // Terminus documents /healthz, but not under Jest: it requires @nestjs/swagger, an ES module. A process below shows it.
    const own = operationsOf(document).filter(([name]) => !/healthz|\/api\/admin\/limits\//.test(name));
    expect([...new Set(asked)].toSorted()).toEqual(own.map(([name]) => name).toSorted());
    const operations = new Map(own);
    for (const [i, [name, { status, type, body, text }]] of Object.entries(answers).entries()) {
      const schema = operations.get(asked[i]!)!.responses['200']!.content?.[type]?.schema;
      const value: unknown = type === 'application/json' ? body : text;
      expect([name, status, schema && problems(document, schema, value)]).toEqual([name, 200, null]);
    }
    const lists = ['nearby', 'history', 'summaries', 'stats'].map((name) => {
      const [, { body }] = Object.entries(answers).find(([key]) => key.endsWith(name))!;
      return Object.values(body as object).find((value) => Array.isArray(value))?.length;
    });
    expect(lists.every((length) => length! > 0)).toBe(true);
  });

  it('describes bodies, queries and who asks', async () => {
    service = await start(platform);
    const document = documentOf(service);
    for (const [name, { requestBody }] of operationsOf(document)) {
      expect([name, requestBody !== undefined]).toEqual([name, /^(POST|PUT)/.test(name)]);
    }
    const { parameters } = document.paths['/api/drivers/nearby']!['get']!;
    expect(parameters.map((one) => [one.name, one.in, one.required])).toEqual([
      ['lat', 'query', true],
      ['lng', 'query', true],
      ['radius_km', 'query', false],
    ]);
    const { schemas } = document.components;
    expect(problems(document, schemas['RideRequestDto']!, RIDE)).toBeNull();
    expect(problems(document, schemas['RideRequestDto']!, { ...RIDE, rider_id: 'a b' })).not.toBeNull();
    expect(problems(document, schemas['RideRequestDto']!, ITINERARY)).not.toBeNull();
    const secured = operationsOf(document).filter(([, { security }]) => security !== undefined);
    for (const [name, { security }] of secured) {
      const scheme = name.includes('/api/admin/limits/') ? 'operator' : 'rider';
      expect([name, security]).toEqual([name, [{ [scheme]: [] }]]);
    }
    expect(secured.length).toBeGreaterThan(10);
  });
});

/** A route's name as that of an operation. */
function nameOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`;
}

describe('/docs', () => {
  it('serves the page, its files and the document, without limits', async () => {
    service = await start('Express', { RATE_LIMIT: 'on', CONTROL_ROOM: 'off' }, [], serveDocs);
    const page = await request(service.url).get('/docs').expect(200).expect('Content-Type', /html/);
    expect(page.headers['content-security-policy']).toMatch(/default-src 'none'; script-src 'self'/);
    expect(page.text).not.toMatch(/(src|href)=["']?https?:/);
    const files = [...page.text.matchAll(/(?:src|href)=["'](\.[^"']+)/g)].map(([, file]) => file!);
    expect(files).toHaveLength(6);
    for (const file of files)
      await request(service.url)
        .get(new URL(file, `${service.url}/docs`).pathname)
        .expect(200);
    const { body } = await request(service.url).get('/docs-json').expect(200);
    expect(body).toEqual(JSON.parse(JSON.stringify(documentOf(service))));
    for (let i = 0; i < 40; i++) {
      const { headers } = await request(service.url).get('/docs-json').set('X-User-Id', 'rider-1').expect(200);
      expect(headers).not.toHaveProperty('x-ratelimit-limit');
    }
  });

  it.each([
    [{}, 200],
    [{ CONTROL_ROOM: 'off' }, 200],
    [{ API_DOCS: 'off' }, 404],
    [{ NODE_ENV: 'production' }, 404],
    [{ NODE_ENV: 'production', API_DOCS: 'on' }, 200],
  ] as const)('of a process with %j: %i', async (variables, status) => {
    await using process = await ServiceProcess.start('main', variables);
    for (const path of ['/docs', '/docs-json', '/docs/swagger-ui.css']) {
      expect([path, (await request(process.url).get(path)).status]).toEqual([path, status]);
    }
    const health = await request(process.url).get('/healthz').expect(200);
    if (status === 404) return;
    const document = (await request(process.url).get('/docs-json')).body as Document;
    const { schema } = document.paths['/healthz']!['get']!.responses['200']!.content!['application/json']!;
    expect(problems(document, schema, health.body)).toBeNull();
  });
});
