import type { ModuleMetadata } from '@nestjs/common';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { GraphQLModule } from '@nestjs/graphql';
import { MercuriusDriver, type MercuriusDriverConfig } from '@nestjs/mercurius';
import { type AppSettings, HttpApp, type Platform, start } from '../../support/http-app.js';

export type Driver = 'Apollo over Express' | 'Apollo over Fastify' | 'Mercurius';

/** The status that Apollo answers with where all of a GraphQL operation is rejected: @nestjs/apollo makes it 200 from 14 on. */
export const APOLLO_STATUS = 'createPreserveHttpStatusPlugin' in ApolloDriver.prototype ? 200 : 429;

export const DRIVERS: readonly Driver[] = ['Apollo over Express', 'Apollo over Fastify', 'Mercurius'];

/** What the drivers have in common, and options of one of them. */
export interface GraphqlSettings extends AppSettings {
  readonly fieldResolverEnhancers?: ('guards' | 'interceptors' | 'filters')[];
  readonly apollo?: Partial<ApolloDriverConfig>;
  readonly mercurius?: Partial<MercuriusDriverConfig>;
}

export interface GraphqlError {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: Readonly<Record<string, unknown>>;
}

export interface GraphqlReply {
  readonly status: number;
  readonly headers: Headers;
  readonly data?: Readonly<Record<string, unknown>> | null;
  readonly errors?: readonly GraphqlError[];
}

/** An application with a GraphQL endpoint, and its client over HTTP. */
export class GraphqlApp implements AsyncDisposable {
  constructor(readonly http: HttpApp) {}

  get url(): string {
    return `http://127.0.0.1:${this.http.port}/graphql`;
  }

  async post(body: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  }

  async ask(query: string, headers?: Readonly<Record<string, string>>): Promise<GraphqlReply> {
    return reply(await this.post({ query }, headers));
  }

  async batch(...queries: readonly string[]): Promise<GraphqlReply[]> {
    const response = await this.post(queries.map((query) => ({ query })));
    const { status, headers } = response;
    return ((await response.json()) as object[]).map((one) => ({ status, headers, ...one }));
  }

  async get(query: string): Promise<GraphqlReply> {
    // Apollo Server takes a GET only with a header that a form cannot send.
    const headers = { 'apollo-require-preflight': 'true' };
    return reply(await fetch(`${this.url}?query=${encodeURIComponent(query)}`, { headers }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.http.close();
  }
}

export async function reply(response: Response): Promise<GraphqlReply> {
  const { status, headers } = response;
  return { status, headers, ...((await response.json()) as object) };
}

/** The codes of a reply's errors. */
export function codes({ errors = [] }: GraphqlReply): unknown[] {
  return errors.map(({ extensions }) => extensions?.['code']);
}

export async function startGraphql(
  driver: Driver,
  metadata: ModuleMetadata,
  { fieldResolverEnhancers = [], apollo, mercurius, ...settings }: GraphqlSettings = {},
): Promise<GraphqlApp> {
  const common = { autoSchemaFile: true, fieldResolverEnhancers };
  const graphql =
    driver === 'Mercurius'
      ? GraphQLModule.forRoot<MercuriusDriverConfig>({
          driver: MercuriusDriver,
          allowBatchedQueries: true,
          ...common,
          ...mercurius,
        })
      : GraphQLModule.forRoot<ApolloDriverConfig>({
          driver: ApolloDriver,
          allowBatchedHttpRequests: true,
          ...common,
          ...apollo,
        });
  const platform: Platform = driver === 'Apollo over Express' ? 'Express' : 'Fastify';
  return new GraphqlApp(
    await start(platform, { ...metadata, imports: [...(metadata.imports ?? []), graphql] }, settings),
  );
}
