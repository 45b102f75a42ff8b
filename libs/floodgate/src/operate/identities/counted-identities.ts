import { isCountedAddress } from '../../identity/counted-address.js';
import type { OnMissingIdentity } from '../../identity/identity.js';
import { kindOfTag } from '../../identity/identity-tag.js';
import type { BoundPolicy } from '../../policy/bound-policy.js';
import { tagOf } from '../../engine/calls/call-arguments.js';
import { RateLimitConfigError, shapeOf, shown } from '../../util/config-error.js';
import { nearestName } from '../../util/nearest-name.js';

/** The kinds of requests without any other identity. */
const ADDRESSES: readonly string[] = ['ip', 'unknown'];
/** The kinds that the library gives a meaning, as far as a misspelt kind can be told from one of the application's own. */
const LONG_KINDS = ['user', 'api-key', 'unknown', 'global'];

/** Knows which identities policies can count, so that a misspelt identity is an error and not a success. */
export class CountedIdentities {
  /**
   * @param routes the policies that stand on routes
   * @param kinds the kinds of identities that the module's chain finds
   * @param ipv6Prefix bits of an IPv6 address that count
   * @param findOwn whether a guard of the application finds identities itself
   */
  constructor(
    private readonly routes: { boundTo(name: string): Iterable<BoundPolicy> },
    private readonly kinds: readonly string[],
    readonly ipv6Prefix: number,
    private readonly defaults: { readonly onMissingIdentity: OnMissingIdentity },
    private readonly findOwn: () => boolean,
  ) {}

  /**
   * The tag of an identity that is given as `{ kind, value }` or as its tag.
   *
   * @throws {RateLimitConfigError} for anything else
   */
  tagOf(given: unknown, where: string): string {
    return tagOf(given, where, this.ipv6Prefix);
  }

  /** Whether requests with an identity of this kind are counted under a policy. Null: a function of the application decides. */
  counts(policy: BoundPolicy, tag: string): boolean | null {
    const { by, name, keyTail } = policy;
    const kind = kindOfTag(tag);
    if (by === 'global') return true;
    // Code may call `RateLimiter` with any identity.
    if (![...this.routes.boundTo(name)].some((one) => one.keyTail === keyTail)) return true;
    if (typeof by === 'function') return null;
    if (by === 'client') return this.kinds.includes(kind) || ADDRESSES.includes(kind);
    if (by === 'ip') return ADDRESSES.includes(kind);
    const missing: OnMissingIdentity = policy.onMissingIdentity ?? this.defaults.onMissingIdentity;
    return kind === by || (missing === 'ip' && ADDRESSES.includes(kind));
  }

  /**
   * Checks an identity that an operator gives. A kind that nothing here knows may be one that code or a guard of the application
   * uses, so only a misspelt one is refused.
   *
   * @throws {RateLimitConfigError} for a misspelt kind, and for an address as no request is counted by
   */
  check(tag: string, where: string): void {
    const kind = kindOfTag(tag);
    if (kind === 'ip') checkAddress(tag.slice(kind.length + 1), where);
    const known = [...LONG_KINDS, ...this.kinds.filter(({ length }) => length > 2)];
    const nearest = known.includes(kind) ? undefined : nearestName(kind, known);
    if (nearest === undefined) return;
    throw wrong(
      where,
      `no identity has the kind ${shown(kind)}. Did you mean ${shown(nearest)}? A kind of your own is known by a resolver of the option identity`,
    );
  }

  /**
   * Checks the identity of an operator's change: one of the policies has to count such an identity.
   *
   * @throws {RateLimitConfigError} as `check` does, and where no request with the identity is counted under any of the policies
   */
  expect(policies: readonly BoundPolicy[], tag: string, where: string): void {
    this.check(tag, where);
    const kind = kindOfTag(tag);
    const [first] = policies;
    if (first === undefined || policies.some((policy) => this.counts(policy, tag) !== false) || this.findOwn()) return;
    throw wrong(
      where,
      `policy ${shown(first.name)} counts by ${shown(first.by)}, so nothing is counted there for an identity of the kind ${shown(kind)}: ` +
        `RateLimiter.explain says what counts it`,
    );
  }
}

function checkAddress(text: string, where: string): void {
  if (isCountedAddress(text)) return;
  throw wrong(
    where,
    `the tag of an address has it as it is counted, as in 'ip:203.0.113.9' or 'ip:2001%3Adb8%3A%3A/56', got ${shapeOf(text)}: give ` +
      `{ kind: 'ip', value: '...' }`,
  );
}

function wrong(where: string, problem: string): RateLimitConfigError {
  return new RateLimitConfigError(where, problem, 'FG_INVALID_IDENTITY');
}
