import { type BoundPolicy, bindPolicy } from '../policy/bound-policy.js';
import { checkTogether } from '../policy/check-together.js';
import type { Meanings } from '../policy/meanings.js';
import type { ParsedPolicy } from '../policy/parse-policy.js';
import type { Policy } from '../policy/policy.js';
import { RateLimitConfigError } from '../util/config-error.js';
import { withHelp } from '../util/error-codes.js';
import type { Logger } from '../util/logger.js';

const WHERE = 'RateLimiter';
const SCOPE = 'app';

/** Warnings of policies that code writes anew for each call, which have other functions each time. */
const MAX_WARNINGS = 1000;

/** A policy with a name, or the name of one of the module's policies. */
export type LimiterPolicy = Policy | string;

/** Parses policies, each once. */
export interface PolicyParser {
  readonly meanings: Meanings;
  parse(policy: unknown, where: string): ParsedPolicy;
}

/** Binds the policies that code names to the application: each is parsed once. */
export class LimiterPolicies {
  private readonly bound = new WeakMap<ParsedPolicy, BoundPolicy>();
  /** The module's policies, and those that are charged together: as many as the code names. */
  private readonly byName = new Map<string, readonly BoundPolicy[]>();
  private readonly warned = new Set<string>();

  /** @param keyPrefix how keys begin */
  constructor(
    private readonly named: PolicyParser,
    private readonly keyPrefix: string,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  /** @throws {RateLimitConfigError} when a policy is wrong, unknown or has no name */
  bind(policies: LimiterPolicy | readonly LimiterPolicy[]): readonly BoundPolicy[] {
    const names = namesOf(policies);
    if (names === undefined) return this.bindAll(policies);
    let bound = this.byName.get(names);
    if (bound === undefined) this.byName.set(names, (bound = this.bindAll(policies)));
    return bound;
  }

  private bindAll(policies: LimiterPolicy | readonly LimiterPolicy[]): BoundPolicy[] {
    const list = Array.isArray(policies) ? (policies as readonly LimiterPolicy[]) : [policies as LimiterPolicy];
    if (list.length === 0)
      throw new RateLimitConfigError(WHERE, 'takes at least one policy or name, got none', 'FG_INVALID_POLICY');
    const bound = list.flatMap((policy) => this.bindOne(policy));
    checkTogether(bound, WHERE);
    return bound;
  }

  /** The policy, and its candidate if it has one. */
  private bindOne(policy: LimiterPolicy): BoundPolicy[] {
    const parsed = this.named.parse(policy, WHERE);
    return parsed.candidate === undefined
      ? [this.bindParsed(parsed)]
      : [this.bindParsed(parsed), this.bindParsed(parsed.candidate)];
  }

  private bindParsed(parsed: ParsedPolicy): BoundPolicy {
    if (!parsed.named) throw new RateLimitConfigError(WHERE, 'a policy outside a route needs a name', 'FG_POLICY_NAME');
    let bound = this.bound.get(parsed);
    if (bound === undefined) {
      bound = bindPolicy(parsed, this.keyPrefix, SCOPE, WHERE);
      const conflict = this.named.meanings.meet(SCOPE, parsed, WHERE);
      if (conflict !== undefined) this.warnOnce(conflict);
      if (parsed.skipIf !== undefined) {
        this.warnOnce(
          withHelp(
            `${WHERE}: policy '${parsed.name}' has a skipIf, which needs a request: RateLimiter charges it all the same`,
            'FG_OPTION_WITHOUT_EFFECT',
          ),
        );
      }
      this.bound.set(parsed, bound);
    }
    return bound;
  }

  private warnOnce(message: string): void {
    if (this.warned.has(message) || this.warned.size >= MAX_WARNINGS) return;
    this.warned.add(message);
    this.logger.warn(message);
  }
}

/** The names as one text (no name has a line break); undefined when a policy is not given by its name. */
function namesOf(policies: LimiterPolicy | readonly LimiterPolicy[]): string | undefined {
  if (typeof policies === 'string') return policies;
  return Array.isArray(policies) && policies.every((policy) => typeof policy === 'string')
    ? policies.join('\n')
    : undefined;
}
