import { setImmediate as turn } from 'node:timers/promises';
import { Controller, Get, type Type } from '@nestjs/common';
import {
  apiKeyIdentity,
  type IdentityResolver,
  type Policy,
  type PolicyBy,
  RateLimit,
  userIdentity,
} from 'nestjs-floodgate';

export const BUCKET: Policy = { name: 'rider', algorithm: 'token-bucket', capacity: 100, refill: '1/h' };

export function routeWith(policy: Partial<Policy>): Type {
  @Controller()
  class Rides {
    @Get()
    @RateLimit({ ...BUCKET, ...policy } as Policy)
    get(): string {
      return 'passed';
    }
  }
  return Rides;
}

export const failing = (error: unknown): (() => never) => {
  return () => {
    throw error;
  };
};
export const rejecting = (error: unknown) => async (): Promise<never> => {
  await turn();
  throw error;
};
export const neverSettles = (): Promise<never> => new Promise(() => undefined);
export const SECRET = 'sk_live_9999-SECRET';

export const user = (id: () => unknown): PolicyBy => (() => ({ kind: 'user', value: id() })) as PolicyBy;

/** A `by` and the module's resolvers that find no identity. */
export const NO_IDENTITY: [string, PolicyBy, IdentityResolver[] | undefined][] = [
  ["by 'user' without a user", 'user', undefined],
  ["by 'api-key' without a key", 'api-key', undefined],
  ["by 'user' with resolvers that find no users", 'user', [apiKeyIdentity()]],
  ['a resolver that finds null', 'user', [{ kind: 'user', resolve: () => null }]],
  ['a resolver that resolves to undefined', 'user', [{ kind: 'user', resolve: () => Promise.resolve(undefined) }]],
  ['a by function that returns undefined', () => undefined, undefined],
  ['a by function that resolves to null', async () => null, undefined],
  ['a by function whose value is undefined', user(() => undefined), undefined],
  ['a by function whose value is null', user(() => null), undefined],
  ['a by function whose value is empty', user(() => ''), undefined],
  ['a by function without a value', (() => ({ kind: 'user' })) as unknown as PolicyBy, undefined],
];

/** The reasons in the log line. */
export const FORGED = 'token is forged';
export const NEVER_SETTLED = 'it did not settle within 50 ms';

/** Functions that fail, and the reason that the log gives. */
export const FAILING: [string, PolicyBy, IdentityResolver[] | undefined, string][] = [
  ['a by function that throws', failing(new Error(FORGED)), undefined, FORGED],
  ['a by function that rejects', rejecting(new Error(FORGED)), undefined, FORGED],
  ['a resolver that throws', 'user', [{ kind: 'user', resolve: failing(new Error(FORGED)) }], FORGED],
  ['a resolver that rejects', 'user', [{ kind: 'user', resolve: rejecting(new Error(FORGED)) }], FORGED],
  [
    'the first resolver of a chain, which throws',
    'client',
    [{ kind: 'token', resolve: failing(new Error(FORGED)) }, userIdentity()],
    FORGED,
  ],
  [
    'the second resolver of a chain, which rejects',
    'client',
    [apiKeyIdentity({ header: 'x-none' }), { kind: 'token', resolve: rejecting(new Error(FORGED)) }],
    FORGED,
  ],
  ['a by function that never settles', neverSettles, undefined, NEVER_SETTLED],
  ['a resolver that never settles', 'user', [{ kind: 'user', resolve: neverSettles }], NEVER_SETTLED],
  ['the address of a chain, which never settles', 'client', [{ kind: 'ip', resolve: neverSettles }], NEVER_SETTLED],
];

export const WITHOUT_IDENTITY: typeof NO_IDENTITY = [
  ...NO_IDENTITY,
  ...FAILING.map(([name, by, identity]): (typeof NO_IDENTITY)[0] => [name, by, identity]),
];
