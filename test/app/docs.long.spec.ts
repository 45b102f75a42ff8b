import { afterEach, describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv } from 'ajv';
import request from 'supertest';
import { apiDocument } from '../../src/docs/api-document.js';
import { Routes } from '../../src/limits/routes.js';
import { ELSEWHERE, GARDEN, ITINERARY, RIDE, ZONE } from './support/requests.js';
import { type Service, start } from './support/start-app.js';

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

describe("the API's document", () => {
  it('is valid, and has every route but those of the pages', async () => {
    service = await start({ RATE_LIMIT: 'on' });
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
    // The library's own endpoints have no decorators of @nestjs/swagger.
    const own = operationsOf(document).filter(([name]) => !name.includes('/api/admin/limits/'));
    for (const [name, { tags, summary }] of own) {
      expect([name, tags.length, summary]).toEqual([name, 1, expect.stringMatching(/./)]);
    }
  });

  it('describes the answers that clients get', async () => {
    service = await start();
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
  });
});

/** A route's name as that of an operation. */
function nameOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`;
}
