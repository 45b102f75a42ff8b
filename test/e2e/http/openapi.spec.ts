import { Module, type Type } from '@nestjs/common';
import {
  All,
  Controller,
  Get,
  Head,
  type INestApplication,
  Post,
  UseGuards,
  Version,
  VersioningType,
} from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv } from 'ajv';
import { describe, expect, it } from '@jest/globals';
import {
  documentRateLimits,
  type Policy,
  RateLimit,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleExtras,
  type RateLimitModuleOptions,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, start } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const ONE: Policy = { name: 'one', algorithm: 'token-bucket', capacity: 1, refill: '1/7s' };

@Controller(['cats', 'felines'])
class Cats {
  @Get()
  all(): void {}

  @Get([':id', 'by-id/:cat'])
  @RateLimit(ONE)
  find(): string {
    return 'cat';
  }

  @Post(':id/pets')
  @RateLimit({ ...ONE, name: 'pets', by: 'user', onMissingIdentity: 'reject', onStoreFailure: 'closed' })
  pet(): void {}

  @Get('queue')
  @RateLimit({ name: 'queue', algorithm: 'leaky-bucket', capacity: 2, drain: 1 })
  queue(): void {}

  @Get('files/*')
  @RateLimit(ONE)
  file(): void {}

  @Get('free')
  @SkipRateLimit()
  free(): void {}
}

@Controller('any')
@RateLimit({ ...ONE, name: 'any' })
class Anything {
  @All()
  any(): void {}

  @Head('head')
  head(): void {}
}

@Controller({ path: 'dogs', version: '1' })
class Dogs {
  @Get()
  @RateLimit(ONE)
  one(): void {}

  @Get()
  @Version(['2', '3'])
  two(): void {}
}

@Controller('bound')
class Bound {
  @Get('yes')
  @UseGuards(RateLimitGuard)
  @RateLimit(ONE)
  yes(): void {}

  @Get('no')
  @RateLimit(ONE)
  no(): void {}
}

const SHARED = { ...ONE, name: 'shared', capacity: 10, priorities: { rides: 1, estimates: 0.5 } } as const;

@Controller('shared')
class Shared {
  @Get('ride')
  @RateLimit(SHARED)
  ride(): void {}

  @Get('estimate')
  @RateLimit({ ...SHARED, priority: 'estimates' })
  estimate(): void {}

  @Get('either')
  @RateLimit({ ...SHARED, priority: () => 'rides' })
  either(): void {}
}

interface Described {
  readonly description: string;
  readonly headers: Record<string, unknown>;
  readonly content: Record<string, { readonly schema: { readonly $ref?: string } }>;
}

interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, { readonly responses: Record<string, Described> }>>;
  readonly components: { readonly schemas: Record<string, object> };
}

interface Shape {
  readonly controllers: Type[];
  readonly options?: RateLimitModuleOptions & RateLimitModuleExtras;
  readonly configure?: (app: INestApplication) => void;
  readonly imports?: Type[];
  readonly openapi?: string;
  readonly ignoreGlobalPrefix?: boolean;
}

describe('documentRateLimits', () => {
  it('says what the class of a request may fill of the limit', async () => {
    const { app, document } = await documented({ controllers: [Shared] });
    await using _ = app;
    const said = (path: string): string => document.paths[`/shared/${path}`]!['get']!.responses['429']!.description;
    const opening = 'Too many requests: a rate limit rejects the request. Under';
    expect(said('ride')).toBe(`${opening} 'shared' the request has the class 'rides', which may fill 1 of the limit.`);
    expect(said('estimate')).toBe(
      `${opening} 'shared' the request has the class 'estimates', which may fill 0.5 of the limit.`,
    );
    expect(said('either')).toBe(
      `${opening} 'shared' the class of the request says what it may fill of the limit: 'rides' 1, 'estimates' 0.5.`,
    );
  });

  async function documented(shape: Shape): Promise<{ app: HttpApp; document: Document }> {
    const { controllers, options = {}, configure, imports = [], openapi = '3.0.0', ignoreGlobalPrefix = false } = shape;
    const limits = RateLimitModule.forRoot({ store: new StillStore(), identity: FROM_HEADERS, ...options });
    let document: unknown;
    const app = await start(
      'Fastify',
      { imports: [limits, ...imports], controllers },
      {
        configure: (nest) => {
          configure?.(nest);
          const config = new DocumentBuilder().setTitle('Test').setOpenAPIVersion(openapi).build();
          const made = SwaggerModule.createDocument(nest, config, { ignoreGlobalPrefix });
          document = documentRateLimits(made, nest);
          expect(document).toBe(made);
        },
      },
    );
    const copy = structuredClone(document) as Document;
    // For @All, swagger writes methods that OpenAPI 3.1 does not know.
    for (const item of Object.values(copy.paths)) for (const method of ['search', 'query']) delete item[method];
    const { valid, errors } = await new Validator().validate(copy as never);
    expect([valid, errors]).toEqual([true, undefined]);
    return { app, document: document as Document };
  }

  /** The operations with a response, as `get /cats`. */
  function having(status: string, { paths }: Document): string[] {
    return Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, { responses }]) => (status in responses ? [`${method} ${path}`] : [])),
    );
  }

  it('adds each answer to exactly the operations that can give it', async () => {
    const { app, document } = await documented({ controllers: [Cats] });
    await app.close();
    const both = (...paths: string[]): string[] =>
      ['/cats', '/felines'].flatMap((base) => paths.map((path) => path.replace('~', base)));
    expect(having('429', document).toSorted()).toEqual(
      both('get ~/by-id/{cat}', 'get ~/files/{path}', 'get ~/queue', 'get ~/{id}', 'post ~/{id}/pets').toSorted(),
    );
    expect(having('503', document).toSorted()).toEqual(both('get ~/queue', 'post ~/{id}/pets').toSorted());
    expect(having('401', document).toSorted()).toEqual(both('post ~/{id}/pets').toSorted());
  });

  it('adds it to the routes of defaults but not to those that are skipped, to @All and to each HEAD', async () => {
    const options = { defaults: [{ ...ONE, name: 'default' }] };
    const { app, document } = await documented({ controllers: [Cats, Anything], options });
    await app.close();
    const every = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method} ${path}`),
    );
    const limited = having('429', document);
    expect(every.filter((operation) => !limited.includes(operation)).toSorted()).toEqual([
      'get /cats/free',
      'get /felines/free',
    ]);
    expect(limited.filter((operation) => operation.endsWith(' /any'))).toEqual(
      expect.arrayContaining(['get /any', 'post /any', 'delete /any', 'patch /any']),
    );
    expect(limited).toContain('head /any/head');
  });

  it.each([false, true])('knows prefixes, versions and paths of modules; ignoreGlobalPrefix: %s', async (ignored) => {
    @Module({ controllers: [Dogs] })
    class DogsModule {}
    @Module({ imports: [DogsModule, RouterModule.register([{ path: 'pets', module: DogsModule }])] })
    class Pets {}
    const { app, document } = await documented({
      controllers: [Cats],
      imports: [Pets],
      ignoreGlobalPrefix: ignored,
      configure: (nest) => {
        nest.setGlobalPrefix('api', { exclude: ['cats/queue'] });
        nest.enableVersioning({ type: VersioningType.URI, defaultVersion: '7' });
      },
    });
    await app.close();
    const prefix = ignored ? '' : '/api';
    const limited = having('429', document);
    expect(limited).toContain(`get ${prefix}/v1/pets/dogs`);
    expect(limited).toContain(`get ${prefix}/v7/cats/{id}`);
    expect(limited.filter((operation) => operation.endsWith('/cats/queue'))).toHaveLength(1);
    expect(limited.filter((operation) => /dogs/.test(operation))).toHaveLength(1);
    expect(having('200', document)).toEqual(
      expect.arrayContaining([`get ${prefix}/v2/pets/dogs`, `get ${prefix}/v3/pets/dogs`]),
    );
  });

  it.each([false, true])(
    'adds the 403 of a blockList to all that asks it, with its schema; problem: %s',
    async (problem) => {
      const blockList = ['127.0.0.1'];
      const { app, document } = await documented({ controllers: [Cats], options: { blockList, problem } });
      await using http = app;
      expect(having('403', document)).toHaveLength(Object.values(document.paths).flatMap(Object.keys).length);
      const { content, headers, description } = document.paths['/cats/free']!['get']!.responses['403']!;
      expect([description, headers]).toEqual(["Requests from the client's address are blocked", {}]);
      const { status, body, headers: sent } = await http.send('/cats/free');
      expect(status).toBe(403);
      const [type] = Object.keys(content);
      expect(sent['content-type']).toContain(type);
      const ajv = new Ajv({ strict: false, formats: { uri: true } });
      expect(ajv.validate(document.components.schemas['RateLimitAddressBlocked']!, body)).toBe(true);
      const options = { guard: false, blockList, problem };
      const bound = await documented({ controllers: [Bound], options });
      await bound.app.close();
      expect(having('403', bound.document)).toEqual(['get /bound/yes']);
    },
  );

  describe('what a document says is what is sent', () => {
    it.each<[openapi: string, string, RateLimitModuleOptions]>([
      ['3.0.0', 'as ever', {}],
      ['3.0.0', 'problem details', { problem: true, headers: 'x-ratelimit+draft-11' }],
      ['3.1.0', 'own members', { problem: () => ({ own: 'words' }), headers: 'throttler' }],
    ])('OpenAPI %s, %s', async (openapi, _, options) => {
      const { app, document } = await documented({ controllers: [Cats], options, openapi });
      await app.send('/cats/7');
      const { status, headers, body } = await app.send('/cats/7');
      await app.close();
      expect(status).toBe(429);
      const described = document.paths['/cats/{id}']!.get!.responses['429']!;
      const sent = Object.keys(headers).filter((name) => /rate-?limit|retry/.test(name));
      const names = Object.keys(described.headers).map((name) => name.toLowerCase());
      // A policy of throttler's format that rejects has its Retry-After alone.
      // Only a rejection that is an estimate says so in a header.
      const mayMiss = (name: string): boolean => name.endsWith('-one') || name === 'x-ratelimit-estimated';
      const optional = names.filter((name) => mayMiss(name) && !sent.includes(name));
      expect(names.toSorted()).toEqual([...sent, ...optional].toSorted());
      const [type, media] = Object.entries(described.content)[0]!;
      expect(headers['content-type']).toContain(type);
      const schema = document.components.schemas[media.schema.$ref!.split('/').at(-1)!]!;
      const validate = new Ajv({ strict: false, formats: { uri: true } }).compile(schema);
      expect([validate(body), validate.errors]).toEqual([true, null]);
      // Of the members of a function nothing is known.
      const isKnown = typeof options.problem !== 'function';
      expect(validate({ ...(body as object), status: 1, statusCode: 1 })).toBe(!isKnown);
    });
  });
});
