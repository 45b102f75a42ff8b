import type { ExecutionContext } from '@nestjs/common';
import { type CountedBy, type Logger, type MissingIdentities, withHelp } from 'floodgate/internal';
import { routeName } from 'floodgate/internal-boot';
import { ContextView } from '../contexts/context-view.js';
import type { IdentityChain } from '../types.js';

type Counted = CountedBy<ExecutionContext>;

/** A request that counted by its address. Its identity is looked for again once its guards have run. */
interface Suspect {
  readonly policy: Counted;
  readonly context: ExecutionContext;
  readonly place: string;
  readonly takenMs: number;
  asked: boolean;
}

/** Milliseconds between two suspects. A suspect without an identity is kept as long, because its guards may be slow. */
const INTERVAL_MS = 1000;
/** The most warnings to log: functions may create any number of policies. */
const MAX_WARNED = 1000;

/** How authentication gets in front of the rate limit. */
const WAYS_OUT =
  `Let authentication run first: an APP_GUARD of the root module, or of a module that is imported before RateLimitModule; or ` +
  `guard: false in RateLimitModule and @UseGuards(AuthGuard, RateLimitGuard); or a middleware that authenticates`;

/**
 * Finds out whether requests that counted by their address were authenticated later. Such a request proves that authentication runs
 * after the rate limit: a request that stays without an identity proves nothing, because users may be optional.
 *
 * It keeps one request at a time, and looks at it when the next one lacks its identity. So it needs no timer, and does not
 * depend on a transport.
 */
export class LateIdentities implements MissingIdentities<ExecutionContext> {
  private suspect: Suspect | undefined;
  private isAsking = false;
  private takenMs = -Infinity;
  private readonly warned = new Set<string>();
  private readonly valuelessPolicies = new Set<string>();

  /**
   * @param count counts a request of a policy that asks for a kind of identity
   * @param now milliseconds of a clock that never steps
   */
  constructor(
    private readonly chain: () => Pick<IdentityChain, 'hasIdentity'>,
    private readonly count: (policy: string) => void,
    private readonly logger: Pick<Logger, 'warn'>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  addressed(policy: Counted, context: ExecutionContext): void {
    // A policy by 'client' asks for no kind: an address is one of its answers.
    if (policy.by !== 'client') this.count(policy.name);
    if (this.isAsking) return;
    const now = this.now();
    const { suspect } = this;
    if (suspect !== undefined && suspect.context !== context) {
      const isOld = now - suspect.takenMs >= INTERVAL_MS;
      if (suspect.asked && !isOld) return;
      // The suspect is looked at outside of the current request, which must not wait.
      this.isAsking = true;
      setImmediate(() => void this.ask(suspect, isOld));
      return;
    }
    if (suspect !== undefined || now - this.takenMs < INTERVAL_MS) return;
    const place = routeName(context);
    if (this.warned.has(`${place} ${policy.name}`) || this.warned.size >= MAX_WARNED) return;
    this.suspect = { policy, context, place, takenMs: now, asked: false };
    this.takenMs = now;
  }

  /** Warns once for each policy of an identity without a value, which may come from a misspelt header. */
  valueless({ name, onMissingIdentity }: Counted, context: ExecutionContext, kind: string): void {
    if (onMissingIdentity === 'reject' || onMissingIdentity === 'throw') return;
    if (this.valuelessPolicies.has(name) || this.valuelessPolicies.size >= MAX_WARNED) return;
    this.valuelessPolicies.add(name);
    this.logger.warn(
      withHelp(
        `${routeName(context)}: the by function of policy '${name}' returned { kind: '${kind}' } without a value, so the request counts by ` +
          `its address, if at all. A misspelt header is undefined, too. If requests may lack it, return undefined`,
        'FG_NO_RESOLVER',
      ),
    );
  }

  private async ask(suspect: Suspect, isLast: boolean): Promise<void> {
    suspect.asked = true;
    const { policy, context, place } = suspect;
    const isLate = await this.chain().hasIdentity(policy, context instanceof ContextView ? context.renewed() : context);
    this.isAsking = false;
    if (isLate || isLast) this.suspect = undefined;
    if (!isLate) return;
    // The next suspect may be of another handler.
    this.takenMs = -Infinity;
    this.warned.add(`${place} ${policy.name}`);
    this.logger.warn(withHelp(messageOf(policy, place), 'FG_IDENTITY_LATE'));
  }
}

function messageOf({ name, by }: Counted, place: string): string {
  const what = by === 'user' ? 'user' : by === 'api-key' ? 'API key' : 'identity';
  if (place === 'RateLimitMiddleware.use') {
    return (
      `RateLimitModule, middleware: policy '${name}' counted the address of a request whose ${what} was found later. The ` +
      `middleware runs before authentication: count addresses there (by: 'ip'), and the others on routes`
    );
  }
  const instead = by === 'client' ? ` If it is to count addresses, say by: 'ip'.` : '';
  return (
    `${place}: policy '${name}' counted the address of a request whose ${what} was found later, because the rate limit's guard ` +
    `runs before authentication.${instead} ${WAYS_OUT}`
  );
}
