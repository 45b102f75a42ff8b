import { describe, expect, it } from '@jest/globals';
import { ClientGoneError, IdentityMissingError } from './errors.js';
import { IdentityChain } from './identity-chain.js';
import type {
  CountedBy,
  IdentityBy,
  IdentityFunction,
  IdentityResolver,
  MaybeIdentity,
  OnMissingIdentity,
} from './identity.js';
import type { RateLimitRequest } from './request-function.js';
import { ResolvedIdentities } from './resolved-identities.js';
import { withHelp } from '../util/error-codes.js';

type Request = RateLimitRequest<{ readonly user?: string }>;

/** The context of a test's request. */
type Context = Omit<Request, 'headers'>;

const requestOf = (context: Context): Request => ({ ...context, headers: {} });

/** Counts the calls of each function by name, and the failures that the chain reports. */
class Calls {
  readonly of: Record<string, number> = {};
  readonly failures: string[] = [];
  /** The promises that the chain guards. */
  guarded = 0;

  within<T>(answer: PromiseLike<T>): Promise<T> {
    this.guarded++;
    return Promise.resolve(answer);
  }

  failed(kind: 'identity', warning: string, error: unknown): void {
    this.failures.push(`${kind}: ${warning}: ${(error as Error).message}`);
  }

  counted<T, R = Request>(name: string, run: (request: R) => T): (request: R) => T {
    return (request) => {
      this.of[name] = (this.of[name] ?? 0) + 1;
      return run(request);
    };
  }
}

const policy = (name: string, by: IdentityBy<Context>, onMissingIdentity?: OnMissingIdentity): CountedBy<Context> => ({
  name,
  by,
  onMissingIdentity,
});

const FORGED = new Error('forged');
const ADA: Context = { user: 'ada', ip: '10.0.0.1' };

type UserOf = (request: Request) => string | undefined | Promise<string | undefined>;
/** Resolvers of several kinds that find one user. */
const MANNERS: [string, UserOf][] = [
  ['synchronous', ({ user }) => user],
  ['asynchronous', async ({ user }) => user],
];
const FAILING: [string, UserOf][] = [
  [
    'that throw',
    () => {
      throw FORGED;
    },
  ],
  ['that reject', () => Promise.reject(FORGED)],
];

function chainOf(
  calls: Calls,
  userOf: UserOf,
  gone = false,
): { readonly chain: IdentityChain<Context>; readonly tenant: IdentityFunction<Context> } {
  const user: IdentityResolver<Context> = { kind: 'user', resolve: calls.counted('user', userOf) };
  const address = { kind: 'ip', resolve: calls.counted('address', ({ ip }: RateLimitRequest) => ip) };
  const chain = new IdentityChain<Context>([user], requestOf, 'ip', calls, { address, hasGone: () => gone });
  const identityOf = (value: string | undefined): MaybeIdentity => ({ kind: 'tenant', value });
  const tenant = calls.counted('tenant', (request): MaybeIdentity | Promise<MaybeIdentity> => {
    const value = userOf(request);
    return typeof value === 'object' ? value.then(identityOf) : identityOf(value);
  });
  return { chain, tenant };
}

/** The tags of the policies, which are all asked for before any promise settles, as the guard does. */
async function tagsOf(
  chain: IdentityChain<Context>,
  policies: readonly CountedBy<Context>[],
  context: Context,
): Promise<unknown[]> {
  const resolved = new ResolvedIdentities();
  const tags = policies.map(async (one) => chain.tag(one, context, resolved));
  const settled = await Promise.allSettled(tags);
  return settled.map((one) => (one.status === 'fulfilled' ? one.value : one.reason));
}

describe('the identity chain, for several policies of a request', () => {
  it.each(MANNERS)('calls each resolver and each by function once: %s', async (_, userOf) => {
    const calls = new Calls();
    const { chain, tenant } = chainOf(calls, userOf);
    const policies = [
      policy('client', 'client'),
      policy('user', 'user'),
      policy('ip', 'ip'),
      policy('tenant', tenant),
      policy('again', tenant),
      policy('client again', 'client'),
      policy('all', 'global'),
    ];
    const found = ['user:ada', 'user:ada', 'ip:10.0.0.1', 'tenant:ada', 'tenant:ada', 'user:ada', 'global:all'];
    expect(await tagsOf(chain, policies, ADA)).toEqual(found);
    expect(calls.of).toEqual({ user: 1, address: 1, tenant: 1 });
  });

  it.each(FAILING)('calls, counts and logs functions %s once, and follows each policy', async (_, userOf) => {
    const calls = new Calls();
    const { chain, tenant } = chainOf(calls, userOf);
    const policies = ['user', tenant].flatMap((by) => [
      policy('address', by as IdentityBy<Context>),
      policy('refusing', by as IdentityBy<Context>, 'reject'),
      policy('throwing', by as IdentityBy<Context>, 'throw'),
    ]);
    const problem = (by: string): string =>
      withHelp(
        `policy 'throwing': no identity to count by ${by}, the function failed: forged; onMissingIdentity is 'throw': let ` +
          `authentication run before the rate limit, or choose 'ip' or 'reject'`,
        'FG_IDENTITY_REQUIRED',
      );
    expect(await tagsOf(chain, policies, ADA)).toEqual([
      'ip:10.0.0.1',
      new IdentityMissingError('refusing'),
      expect.objectContaining({ name: 'RateLimitConfigError', message: problem("'user'") }),
      'ip:10.0.0.1',
      new IdentityMissingError('refusing'),
      expect.objectContaining({ name: 'RateLimitConfigError', message: problem('a function') }),
    ]);
    expect(calls.of).toEqual({ user: 1, address: 1, tenant: 1 });
    const failure = "identity: An identity function failed (policy 'address'): forged";
    expect(calls.failures).toEqual([failure, failure]);
  });
});

describe('the identity chain, for one policy', () => {
  it('throws when the client has gone with its address, and else counts a request without one as unknown', () => {
    const of = (gone: boolean) => chainOf(new Calls(), () => undefined, gone).chain;
    expect(() => of(true).tag(policy('a', 'client'), {})).toThrow(ClientGoneError);
    expect(of(false).tag(policy('a', 'client'), {})).toBe('unknown:');
  });
});
