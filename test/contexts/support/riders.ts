import { Args, Field, Int, Mutation, ObjectType, Parent, Query, ResolveField, Resolver } from '@nestjs/graphql';
import { type Policy, RateLimit, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { StillStore } from '../../support/still-store.js';
import { type Driver, type GraphqlApp, type GraphqlSettings, startGraphql } from './graphql-app.js';

const WINDOW = { algorithm: 'fixed-window', window: '1h' } as const;
export const TWENTY = { ...WINDOW, name: 'twenty', limit: 20 } as const satisfies Policy;

@ObjectType()
class Rider {
  @Field(() => Int)
  id!: number;
}

@Resolver(() => Rider)
export class Riders {
  @Query(() => Rider)
  @RateLimit(TWENTY)
  rider(@Args('id', { type: () => Int }) id: number): Rider {
    return { id };
  }

  @Query(() => [Rider])
  riders(): Rider[] {
    return [{ id: 1 }, { id: 2 }, { id: 3 }];
  }

  @Query(() => Int)
  @RateLimit({ ...TWENTY, name: 'shared', scope: 'app' })
  first(): number {
    return 1;
  }

  @Query(() => Int)
  @RateLimit({ ...TWENTY, name: 'shared', scope: 'app' })
  second(): number {
    return 2;
  }

  @Mutation(() => Int)
  @RateLimit(TWENTY)
  login(@Args('password') password: string): number {
    return password.length;
  }

  @ResolveField(() => String)
  @RateLimit({ ...TWENTY, name: 'field' })
  label(@Parent() { id }: Rider): string {
    return `rider ${id}`;
  }
}

/** An application of `Riders`, or of other resolvers. */
export function begin(
  driver: Driver,
  options: RateLimitModuleOptions = {},
  settings?: GraphqlSettings,
  providers: NonNullable<Parameters<typeof startGraphql>[1]['providers']> = [Riders],
): Promise<GraphqlApp> {
  const limiter = RateLimitModule.forRoot({ store: new StillStore(), ...options });
  return startGraphql(driver, { imports: [limiter], providers }, settings);
}

/** `a0: login(..) a1: login(..)`. */
export const aliases = (count: number, field: string): string =>
  Array.from({ length: count }, (_, i) => `a${i}: ${field}`).join(' ');
