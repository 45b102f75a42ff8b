import type { AssertionError } from 'node:assert';
import type { PolicyDecision } from 'floodgate';
import { algorithmEntry } from 'floodgate/internal-boot';
import { type Exchange, type Exchanges, rejectionOf } from './exchange.js';
import { failure, type Subject } from './report.js';

const MICROSECONDS = 1000;

/** How a limit renews itself, as the test expects it. */
export interface Renewal {
  /** The text in failures, such as `1 second`. */
  readonly text: string;
  readonly microseconds: number;
}

/** What the answer to an admitted request is: a status, or any of success and redirection. */
export type Answering = number | undefined;

/** Checks one route's limit for one client, on the virtual clock. Its methods are steps, in their order. */
export class LimitCheck {
  private count = 0;

  constructor(
    private readonly subject: Subject,
    private readonly exchanges: Exchanges,
    private readonly answering: Answering,
  ) {}

  /** `count` requests pass, and the next one is rejected. */
  async admits(count: number): Promise<void> {
    this.count = count;
    await this.burst(`${requests(count)} admitted, then request ${count + 1} rejected with 429`);
  }

  /** In each interval `count` more requests pass, evenly where the limit is a bucket. */
  async refills(count: number, interval: Renewal): Promise<void> {
    const rejection = this.lastRejection();
    if (hasWindow(rejection)) {
      const expected = `${count} per ${interval.text}, after ${requests(this.count)} at once`;
      const { policy, algorithm } = rejection;
      const right = `'${policy}' is a ${algorithm}, which renews its whole limit: write toAdmit(${this.count}).per('...')`;
      if (count !== this.count) throw this.fail(expected, right);
      return this.renews(interval);
    }
    const refill = `${count} more per ${interval.text}`;
    await this.rejectsUntilRetryAfter(`${refill}; until retryAfter requests are rejected`);
    const { clock } = this.exchanges;
    await this.admitted(`${refill}; at retryAfter the next request is admitted`);
    await this.rejected(`${refill}; a second request at the same instant is rejected`);
    let since = clock.nowMicroseconds;
    let steps = 0;
    for (let done = 0; done < count;) {
      // Fewer than the whole burst: a full bucket has no room for the fraction of a token that it gains.
      const more = Math.min(count - done, Math.max(1, this.count - 1));
      steps += more;
      const within = Math.ceil((steps * interval.microseconds) / count);
      if (this.count === 1) {
        await this.advance(within - 1);
        await this.rejected(`${refill}: none within ${(within - 1) / MICROSECONDS} ms`);
      }
      await this.advance(since + within - clock.nowMicroseconds);
      for (let i = 0; i < more; i++) await this.admitted(`${refill}: request ${done + i + 1} of ${count} admitted`);
      await this.rejected(`${refill}: ${steps} within ${within / MICROSECONDS} ms, then 429`);
      done += more;
      // A bucket of one is full again at each step, and counts from there.
      if (this.count === 1) [since, steps] = [clock.nowMicroseconds, 0];
    }
  }

  /** The whole limit is back after the interval. */
  async renews({ text, microseconds }: Renewal): Promise<void> {
    const expected = `${requests(this.count)} per ${text}`;
    await this.rejectsUntilRetryAfter(`${expected}; until retryAfter requests are rejected`);
    const { at, resetAfterMs } = this.lastRejected();
    // At this instant a fixed window begins, so that the next burst sees the whole of it.
    await this.advance(Math.round(at + resetAfterMs * MICROSECONDS) - this.exchanges.clock.nowMicroseconds);
    await this.burst(`${expected}: when the limit has renewed, ${this.count} admitted, then 429`);
    const rejection = this.lastRejection();
    // A counter that weighs its previous window is whole again after two.
    const weighs = hasWindow(rejection) && rejection.retryAfterMs !== rejection.resetAfterMs;
    const renewedIn = Math.round(rejection.resetAfterMs * MICROSECONDS) / (weighs ? 2 : 1);
    if (renewedIn === microseconds) return;
    throw this.fail(expected, `'${rejection.policy}' admits ${this.count} per ${renewedIn / MICROSECONDS} ms`);
  }

  private async burst(expected: string): Promise<void> {
    for (let i = 0; i < this.count; i++) await this.admitted(expected);
    await this.rejected(expected);
  }

  /** A microsecond before the `retryAfterMs` of the last rejection the request is rejected. The clock then stands at it. */
  private async rejectsUntilRetryAfter(expected: string): Promise<void> {
    const { retryAfterMs, policy } = this.lastRejection();
    if (retryAfterMs === null) throw this.fail(expected, `the request costs more than '${policy}' ever admits`);
    await this.advance(Math.round(retryAfterMs * MICROSECONDS) - 1);
    await this.rejected(expected);
    await this.advance(1);
  }

  private async advance(microseconds: number): Promise<void> {
    this.exchanges.clock.advanceMicroseconds(microseconds);
    for (const exchange of await this.exchanges.settle()) {
      if (!this.isExpected(exchange)) {
        throw this.fail('delayed requests answered once their slot has come', this.oddity(exchange));
      }
    }
  }

  private async admitted(expected: string): Promise<void> {
    const exchange = await this.exchanges.send();
    if (rejectionOf(exchange) !== undefined && exchange.reply?.status === 429) {
      throw this.fail(expected, `request ${exchange.number} was rejected`);
    }
    if (!this.isExpected(exchange)) throw this.fail(expected, this.oddity(exchange));
  }

  private async rejected(expected: string): Promise<void> {
    const exchange = await this.exchanges.send();
    if (rejectionOf(exchange) !== undefined && exchange.reply?.status === 429) return;
    const { number } = exchange;
    const admitted = `request ${number} was admitted${freed(exchange)}`;
    throw this.fail(expected, this.isExpected(exchange) ? admitted : this.oddity(exchange));
  }

  /** Whether a request was admitted by a limit, and answered as an admitted request should be. */
  private isExpected(exchange: Exchange): boolean {
    const { decisions, reply } = exchange;
    if (decisions.length === 0 || decisions.some(({ decision }) => !decision.allowed)) return false;
    if (reply === undefined) return true;
    return this.answering === undefined ? reply.status >= 200 && reply.status < 400 : reply.status === this.answering;
  }

  private oddity({ number, decisions, reply }: Exchange): string {
    const status = reply?.status ?? 0;
    if (decisions.length === 0) {
      return `request ${number} was answered ${status}, and no policy decided on it: the route has no limit, or something before the guard answered`;
    }
    if (decisions.every(({ decision }) => decision.allowed)) {
      const right =
        this.answering === undefined ? `if that is right, write .answering(${status})` : `not ${this.answering}`;
      return `request ${number} was admitted, but answered ${status}: ${right}`;
    }
    return `request ${number} was rejected, but answered ${status}, not 429`;
  }

  private lastRejection(): PolicyDecision {
    return rejectionOf(this.exchanges.all.at(-1)!)!;
  }

  private lastRejected(): { readonly at: number; readonly resetAfterMs: number } {
    const exchange = this.exchanges.all.at(-1)!;
    return { at: exchange.at, resetAfterMs: rejectionOf(exchange)!.resetAfterMs };
  }

  private fail(expected: string, happened: string): AssertionError {
    return failure(this.subject, expected, happened, this.exchanges.all);
  }
}

/** Whether the policy counts in windows. A bucket refills evenly instead. */
function hasWindow({ algorithm }: PolicyDecision): boolean {
  return algorithmEntry(algorithm)?.options.includes('window') === true;
}

/** Why a concurrency admits requests that come one after another. */
function freed({ decisions }: Exchange): string {
  const policies = decisions.flatMap(({ decision }) => decision.policies);
  const concurrency = policies.find(({ algorithm }) => algorithmEntry(algorithm)?.leases === true);
  if (concurrency === undefined) return '';
  return `: '${concurrency.policy}' is a concurrency, in which the requests before have freed their places. Send requests that stay open`;
}

function requests(count: number): string {
  return count === 1 ? '1 request' : `${count} requests`;
}
