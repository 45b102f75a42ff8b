import { LRUCache } from 'lru-cache';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import { Meanings } from './meanings.js';
import { isName, type ParsedPolicy, parsePolicy } from './parse-policy.js';
import type { Policy } from './policy.js';

/** Distinct values of policy functions and of `RateLimiter` calls that are kept parsed. */
const MAX_PARSED = 1000;

/** Stands for any object: no option takes one, and not every object becomes text. */
const NO_VALUE = 'an object';

/** Every policy is parsed once: the module's named ones at boot, others when they are first met. */
export class NamedPolicies {
  /** Which policies count under which keys. */
  readonly meanings = new Meanings();
  private readonly named = new Map<string, ParsedPolicy>();
  private readonly byContent = new LRUCache<string, ParsedPolicy>({ max: MAX_PARSED });
  private readonly functions = new WeakMap<object, number>();
  private functionCount = 0;

  /** @throws {RateLimitConfigError} for the first policy that is not one */
  constructor(policies: Readonly<Record<string, Policy>> = {}) {
    for (const [name, policy] of Object.entries(policies)) {
      const place = `RateLimitModule, policies.${name}`;
      if (!isName(name)) throw new RateLimitConfigError(place, 'a name must be 1 to 64 printable characters');
      if (policy?.name !== undefined && policy.name !== name) {
        throw new RateLimitConfigError(place, `name must be ${shown(name)} or left out, got ${shown(policy.name)}`);
      }
      const parsed = parsePolicy(policy, place, name);
      this.named.set(name, parsed);
      // As RateLimiter counts it, by its name.
      this.meanings.claim('app', parsed, place);
    }
  }

  [Symbol.iterator](): Iterator<ParsedPolicy> {
    return this.named.values();
  }

  /**
   * @param place where the policy stands, for error messages
   * @throws {RateLimitConfigError} for an unknown name or a policy that is not one
   */
  parse(policy: unknown, place: string): ParsedPolicy {
    if (typeof policy === 'string') {
      const known = this.named.get(policy);
      if (known !== undefined) return known;
      const names = [...this.named.keys()].map(shown).join(', ');
      throw new RateLimitConfigError(
        place,
        `there is no policy named ${shown(policy)}; the module's policies are ${names === '' ? 'none' : names}`,
      );
    }
    if (typeof policy !== 'object' || policy === null) return parsePolicy(policy, place);
    // By content, not by identity: a function may hand out the same object with other numbers each time.
    const content = this.content(policy);
    let parsed = this.byContent.get(content);
    if (parsed === undefined) this.byContent.set(content, (parsed = parsePolicy(policy, place)));
    return parsed;
  }

  /** Equal for policies of equal options; a function equals only itself. */
  private content(policy: object): string {
    return JSON.stringify(
      Object.entries(policy)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([option, value]: [string, unknown]) => [option, typeof value, this.shown(value)]),
    );
  }

  private shown(value: unknown): string {
    if (typeof value !== 'function') return Object(value) === value ? NO_VALUE : String(value);
    let id = this.functions.get(value);
    if (id === undefined) this.functions.set(value, (id = ++this.functionCount));
    return String(id);
  }
}
