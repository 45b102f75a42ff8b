import { Int, Query, Resolver } from '@nestjs/graphql';
import { expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { StillStore } from '../support/still-store.js';
import { DRIVERS, startGraphql } from './support/graphql-app.js';

const USERS: Policy = { algorithm: 'fixed-window', limit: 1, window: '1h', by: 'user', onMissingIdentity: 'throw' };
const CLIENTS: Policy = { algorithm: 'fixed-window', limit: 1, window: '1h' };

@Resolver()
class Riders {
  @Query(() => Int, { nullable: true })
  @RateLimit(USERS)
  user(): number {
    return 1;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit(CLIENTS)
  client(): number {
    return 1;
  }
}

it.each(DRIVERS)('a mistake of the application is logged, and no text for clients, with %s', async (driver) => {
  // A copy of a request has neither its address nor its socket.
  const context = (first: { req?: { headers: object }; headers: object }): object => ({
    req: { headers: (first.req ?? first).headers },
  });
  await using app = await startGraphql(
    driver,
    { imports: [RateLimitModule.forRoot({ store: new StillStore() })], providers: [Riders] },
    driver === 'Mercurius' ? { mercurius: { context } } : { apollo: { context } },
  );
  for (const field of ['user', 'client']) {
    const { errors } = await app.ask(`{ ${field} }`);
    expect(errors).toEqual([expect.objectContaining({ message: 'Internal server error', path: [field] })]);
  }
  const logged = app.http.logs.of('error').join();
  expect(logged).toContain("no identity to count by 'user'");
  expect(logged).toContain("Riders.client: a request of context 'graphql' has no identity that its policy counts");
});
