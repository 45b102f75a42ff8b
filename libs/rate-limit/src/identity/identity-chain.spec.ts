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
const UNNAMED: Context = { ip: '10.0.0.1' };

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

  it.each(MANNERS)('calls each once where the request has no identity: %s', async (_, userOf) => {
    const calls = new Calls();
    const { chain, tenant } = chainOf(calls, userOf);
    const policies = ['client', 'user', 'ip', tenant, tenant] as const;
    const tags = await tagsOf(
      chain,
      policies.map((by) => policy('any', by)),
      UNNAMED,
    );
    expect(tags).toEqual(policies.map(() => 'ip:10.0.0.1'));
    expect(calls.of).toEqual({ user: 1, address: 1, tenant: 1 });
    expect(calls.failures).toEqual([]);
  });

  it.each(FAILING)('calls, counts and logs functions %s once, and follows each policy', async (_, userOf) => {
    const calls = new Calls();
    const { chain, tenant } = chainOf(calls, userOf);
    const policies = ['user', tenant].flatMap((by) => [
      policy('address', by as IdentityBy<Context>),
      policy('refusing', by as IdentityBy<Context>, 'refuse'),
      policy('throwing', by as IdentityBy<Context>, 'throw'),
    ]);
    const problem = (by: string): string =>
      withHelp(
        `policy 'throwing': no identity to count by ${by}, the function failed: forged; onMissingIdentity is 'throw': let ` +
          `authentication run before the rate limit's guard, or choose 'ip' or 'refuse'`,
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

  it.each<[string, (returned: MaybeIdentity) => MaybeIdentity | Promise<MaybeIdentity>]>([
    ['at once', (returned) => returned],
    ['later', async (returned) => returned],
  ])('calls a by function once that returns %s what is no identity', async (_, later) => {
    const calls = new Calls();
    const { chain } = chainOf(calls, () => undefined);
    const by = calls.counted('by', () => later({ kind: 'user', value: NaN }));
    const mistake = expect.objectContaining({ name: 'RateLimitConfigError', code: 'FG_INVALID_IDENTITY' });
    expect(await tagsOf(chain, [policy('a', by), policy('b', by, 'refuse')], ADA)).toEqual([mistake, mistake]);
    expect([calls.of, calls.failures]).toEqual([{ by: 1 }, []]);
  });

  it.each<[string | number | bigint, string]>([
    [7, 'user:7'],
    [0, 'user:0'],
    [-0, 'user:0'],
    [-7, 'user:-7'],
    [Number.MAX_SAFE_INTEGER, 'user:9007199254740991'],
    [7n, 'user:7'],
    [2n ** 64n, 'user:18446744073709551616'],
    ['7', 'user:7'],
  ])('counts the value %p as %s, of a resolver and of a by function', async (value, tag) => {
    const resolver: IdentityResolver<Context> = { kind: 'user', resolve: () => value };
    const address = { kind: 'ip', resolve: () => '10.0.0.1' };
    const chain = new IdentityChain<Context>([resolver], requestOf, 'ip', new Calls(), {
      address,
      hasGone: () => false,
    });
    const policies = [policy('a', 'user'), policy('b', 'client'), policy('c', async () => ({ kind: 'user', value }))];
    expect(await tagsOf(chain, policies, ADA)).toEqual([tag, tag, tag]);
  });

  it.each<[unknown, string]>([
    [NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [1.5, '1.5'],
    [2 ** 53, '9007199254740992'],
    [true, 'true'],
    [{ id: 7 }, 'an object'],
  ])('fails for the value %p, which is none', async (value, got) => {
    const resolver: IdentityResolver<Context> = { kind: 'user', resolve: () => value as string };
    const address = { kind: 'ip', resolve: () => '10.0.0.1' };
    const chain = new IdentityChain<Context>([resolver], requestOf, 'ip', new Calls(), {
      address,
      hasGone: () => false,
    });
    const policies = [policy('a', 'user'), policy('b', () => ({ kind: 'user', value: value as string }))];
    const problem = withHelp(
      `a 'user' identity: its value must be a string, a safe integer or a bigint, got ${got}`,
      'FG_INVALID_IDENTITY',
    );
    const mistake = expect.objectContaining({ name: 'RateLimitConfigError', message: problem });
    expect(await tagsOf(chain, policies, ADA)).toEqual([mistake, mistake]);
  });

  it('asks asynchronous resolvers and functions side by side', async () => {
    const calls = new Calls();
    const { chain } = chainOf(calls, async () => {
      started.push('user');
      await all;
      return 'ada';
    });
    // Each answer waits until all three calls have begun. One after the other, they would never settle.
    const started: string[] = [];
    let allStarted!: () => void;
    const all = new Promise<void>((resolve) => (allStarted = resolve));
    const waiting = (name: string) => async (): Promise<MaybeIdentity> => {
      started.push(name);
      if (started.length === 3) allStarted();
      await all;
      return { kind: 'own', value: name };
    };
    const policies = [policy('a', 'user'), policy('b', waiting('b')), policy('c', waiting('c'))];
    expect(await tagsOf(chain, policies, ADA)).toEqual(['user:ada', 'own:b', 'own:c']);
    expect([started, calls.guarded]).toEqual([['user', 'b', 'c'], 3]);
  });

  it('asks once for an address that the request does not have', async () => {
    const calls = new Calls();
    const { chain } = chainOf(calls, () => undefined);
    const policies = [policy('a', 'ip'), policy('b', 'client'), policy('c', 'user')];
    expect(await tagsOf(chain, policies, {})).toEqual(['unknown:', 'unknown:', 'unknown:']);
    expect(calls.of).toEqual({ user: 1, address: 1 });
  });

  it('keeps the requests apart', async () => {
    const calls = new Calls();
    const { chain } = chainOf(calls, ({ user }) => user);
    const policies = [policy('a', 'user'), policy('b', 'client')];
    expect(await tagsOf(chain, policies, ADA)).toEqual(['user:ada', 'user:ada']);
    expect(await tagsOf(chain, policies, { user: 'grace' })).toEqual(['user:grace', 'user:grace']);
    expect(calls.of).toEqual({ user: 2 });
  });
});

describe('the identity chain, for one policy', () => {
  it.each(FAILING)('asks a resolver for addresses once that fails: functions %s', async (_, addressOf) => {
    const calls = new Calls();
    const resolver = { kind: 'ip', resolve: calls.counted('own', addressOf) };
    const address = { kind: 'ip', resolve: calls.counted('address', ({ ip }: RateLimitRequest) => ip) };
    const chain = new IdentityChain<Context>([resolver], requestOf, 'ip', calls, { address, hasGone: () => false });
    for (const by of ['client', 'ip'] as const) expect(await chain.tag(policy('a', by), ADA)).toBe('ip:10.0.0.1');
    expect([calls.of, calls.failures.length]).toEqual([{ own: 2, address: 2 }, 2]);
  });

  it('throws what the address of the connection throws, as there is nothing else to count', async () => {
    const calls = new Calls();
    const resolve = calls.counted<never, RateLimitRequest>('address', () => {
      throw FORGED;
    });
    const peer = { address: { kind: 'ip', resolve }, hasGone: () => false };
    const chain = new IdentityChain<Context>([], requestOf, 'ip', calls, peer);
    for (const by of ['client', 'ip', 'user'] as const) expect(() => chain.tag(policy('a', by), ADA)).toThrow(FORGED);
    expect([calls.of, calls.failures.length]).toEqual([{ address: 4 }, 4]);
  });

  it('returns no promise where no function is asynchronous', () => {
    const { chain, tenant } = chainOf(new Calls(), ({ user }) => user);
    const tags = ['client', 'user', 'ip', 'global', tenant].map((by) =>
      chain.tag(policy('a', by as IdentityBy<Context>), ADA),
    );
    expect(tags).toEqual(['user:ada', 'user:ada', 'ip:10.0.0.1', 'global:a', 'tenant:ada']);
  });

  it('throws when the client has gone with its address, and else counts a request without one as unknown', () => {
    const of = (gone: boolean) => chainOf(new Calls(), () => undefined, gone).chain;
    expect(() => of(true).tag(policy('a', 'client'), {})).toThrow(ClientGoneError);
    expect(of(false).tag(policy('a', 'client'), {})).toBe('unknown:');
  });
});
