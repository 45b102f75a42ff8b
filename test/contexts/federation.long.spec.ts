import '@apollo/subgraph'; // Nest loads it at boot, which takes seconds the first time.
import { ApolloServerPluginInlineTraceDisabled } from '@apollo/server/plugin/disabled';
import { ApolloFederationDriver, type ApolloFederationDriverConfig } from '@nestjs/apollo';
import {
  Directive,
  Field,
  GraphQLModule,
  ID,
  Int,
  ObjectType,
  Query,
  ResolveReference,
  Resolver,
} from '@nestjs/graphql';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitModule, type RateLimitModuleOptions, SkipRateLimit } from 'nestjs-floodgate';
import { start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { codes, GraphqlApp, type GraphqlReply } from './support/graphql-app.js';

const TWENTY = { name: 'twenty', algorithm: 'fixed-window', limit: 20, window: '1h' } as const satisfies Policy;

@ObjectType()
@Directive('@key(fields: "id")')
class Rider {
  @Field(() => ID)
  id!: string;

  @Field(() => Int)
  trips!: number;
}

@Resolver(() => Rider)
class Riders {
  @Query(() => Int)
  @RateLimit(TWENTY)
  count(): number {
    return 1;
  }

  @Query(() => [Rider])
  @SkipRateLimit()
  riders(): Rider[] {
    return [];
  }

  @ResolveReference()
  @RateLimit(TWENTY)
  reference({ id }: { id: string }): Rider {
    return { id, trips: 3 };
  }
}

/** A subgraph, as a router asks it. */
async function subgraph(
  options: RateLimitModuleOptions,
  fieldResolverEnhancers: ('guards' | 'interceptors' | 'filters')[] = ['guards'],
): Promise<GraphqlApp> {
  const graphql = GraphQLModule.forRoot<ApolloFederationDriverConfig>({
    driver: ApolloFederationDriver,
    autoSchemaFile: { federation: 2 },
    fieldResolverEnhancers,
    plugins: [ApolloServerPluginInlineTraceDisabled()],
  });
  return new GraphqlApp(
    await start('Express', { imports: [RateLimitModule.forRoot(options), graphql], providers: [Riders] }),
  );
}

/** What a router asks for entities that it knows by their keys. */
function entities(app: GraphqlApp, ...ids: readonly string[]): Promise<GraphqlReply> {
  const representations = ids.map((id) => `{ __typename: "Rider", id: "${id}" }`).join(', ');
  return app.ask(`{ _entities(representations: [${representations}]) { ... on Rider { trips } } }`);
}

describe('a subgraph of a federation', () => {
  it('rejects the 21st operation for entities, however many each names', async () => {
    const store = new StillStore();
    await using app = await subgraph({ store });
    for (let i = 0; i < 20; i++) {
      const { data, errors } = await entities(app, 'a', 'b', 'c');
      expect([data, errors]).toEqual([{ _entities: [{ trips: 3 }, { trips: 3 }, { trips: 3 }] }, undefined]);
    }
    const rejected = await entities(app, 'a');
    expect(rejected.data).toEqual({ _entities: [null] });
    expect(codes(rejected)).toEqual(['RATE_LIMITED']);
    expect(store.keys).toEqual(['rl:{ip:127.0.0.1}:Riders.reference:twenty:fw:3600000000']);
    expect(app.http.logs.of('warn')).toEqual([]);
  });

  it('does not limit entities without the enhancer, and boot says so', async () => {
    const store = new StillStore();
    await using app = await subgraph({ store }, []);
    for (let i = 0; i < 21; i++) expect(codes(await entities(app, 'a'))).toEqual([]);
    expect(store.asked).toEqual([]);
    expect(app.http.logs.of('warn')).toEqual([
      expect.stringContaining(
        'Riders.reference: @RateLimit has no effect there: Nest calls resolvers of fields without',
      ),
    ]);
  });
});
