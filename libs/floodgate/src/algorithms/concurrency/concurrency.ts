import type { Algorithm } from '../core/algorithm.js';
import type { Lease } from '../core/lease.js';
import { LimitShares, type Shares } from '../core/shares.js';
import { durationToMicroseconds } from '../../util/duration.js';
import type { AlgorithmDefinition, OptionReader } from '../core/options.js';
import {
  type Log,
  type LogLevel,
  MAX_COST,
  MAX_LIMIT,
  SlidingWindowLog,
} from '../sliding-window-log/sliding-window-log.js';
import { upTo } from '../core/up-to.js';
import { LeaseRenewalWire } from './lease-renewal.js';
import { SlidingWindowLogWire } from '../sliding-window-log/wire.js';

const SHORTEST_LEASE = 1_000_000;
const LONGEST_LEASE = 86_400_000_000;
/** How long a lease lasts whose holder is not known to have it. */
const GRANTED = 5_000_000;

/** `{ algorithm: 'concurrency', limit, lease }` */
export const CONCURRENCY = {
  name: 'concurrency',
  options: ['limit', 'lease'],
  leases: true,
  create: (options: OptionReader): Algorithm => new Concurrency(options.whole('limit', MAX_LIMIT), readLease(options)),
  whyNoPrefetch: 'a place is taken and freed by each request',
} as const satisfies AlgorithmDefinition;

function readLease(options: OptionReader): number {
  const read = (given: unknown): number | undefined => {
    const lease = durationToMicroseconds(given);
    return lease === undefined || lease < SHORTEST_LEASE || lease > LONGEST_LEASE ? undefined : lease;
  };
  const range = `from ${SHORTEST_LEASE / 1000} ms to ${LONGEST_LEASE / 1000} ms`;
  return options.value('lease', read, `milliseconds or a duration such as '30s', ${range}`);
}

/**
 * Concurrency: admits at most `limit` requests at once. Each holds a lease, which is released at its end. A lease that is neither
 * released nor renewed ends `lease` microseconds after it was taken, so a process that dies frees its leases.
 *
 * The state is a sliding window log whose window is the lease, with the instants at which leases were taken or renewed: a lease
 * that ends by itself is an entry that expires, and a release is a refund. Source: the counting semaphore of Carlson, "Redis in
 * Action", section 6.3.
 */
export class Concurrency extends SlidingWindowLog {
  override readonly name = 'concurrency';
  override readonly code = 'cc';
  override readonly wire: SlidingWindowLogWire;
  /** A lease could lie in any of the shards. */
  override readonly shares: Shares = new LimitShares(this, false);
  readonly lease: Lease;

  /** @param length microseconds that a lease lasts */
  constructor(limit: number, length: number) {
    super(limit, length, Math.min(limit, MAX_COST));
    this.wire = new SlidingWindowLogWire('concurrency', [limit, length], length);
    this.lease = new ConcurrencyLease(this, limit, length);
  }

  override describe(): string {
    return `limit ${this.limit}, lease ${this.window / 1000} ms`;
  }

  override withLimit(limit: number): Concurrency {
    return new Concurrency(limit, this.window);
  }
}

class ConcurrencyLease implements Lease {
  readonly granted: number;
  private granting: Algorithm | undefined;

  constructor(
    private readonly whole: Concurrency,
    private readonly limit: number,
    readonly length: number,
  ) {
    this.granted = Math.min(length, GRANTED);
  }

  get grant(): Algorithm {
    if (this.granted === this.length) return this.whole;
    return (this.granting ??= new LeaseGrant(this.limit, this.length, this.granted));
  }

  renewal(resetAt: number): Concurrency {
    return new LeaseRenewal(this.limit, this.length, resetAt);
  }
}

interface GrantLevel extends LogLevel {
  /** The leases that are to be inserted. */
  readonly granted?: number;
}

/** Takes leases that end before others which were renewed. Its states and keys are those of `Concurrency`. */
class LeaseGrant extends Concurrency {
  override readonly wire: SlidingWindowLogWire;

  /** @param lasts microseconds */
  constructor(
    limit: number,
    length: number,
    readonly lasts: number,
  ) {
    super(limit, length);
    this.wire = new SlidingWindowLogWire('concurrency', [limit, length, 0, lasts], length);
  }

  override charge(level: GrantLevel, cost: number): GrantLevel {
    if (cost === 0) return level;
    const { used, left, granted = 0 } = level;
    return { ...level, used: used + cost, left: Math.max(this.lasts, left), granted: granted + cost };
  }

  override write({ granted = 0, ...level }: GrantLevel, now: number, given?: Log): Log {
    const log = super.write(level, now, given);
    const instant = now - this.window + this.lasts;
    log.instants.splice(upTo(log.instants, instant, log.first), 0, ...Array.from({ length: granted }, () => instant));
    return log;
  }
}

export interface RenewalLevel extends LogLevel {
  /** The number of held leases that end at the same instant as the renewed one. From Redis: infinite if they suffice. */
  readonly held: number;
  /** The leases that move to now. */
  readonly moved: number;
}

/** Renews one lease. Its states and keys are those of `Concurrency`. */
class LeaseRenewal extends Concurrency {
  override readonly wire: LeaseRenewalWire;
  /** The instant at which the lease was taken or renewed. */
  private readonly instant: number;

  /** @param ends when the lease ends */
  constructor(limit: number, length: number, ends: number) {
    super(limit, length);
    this.wire = new LeaseRenewalWire('concurrency', [limit, length, ends], length);
    this.instant = ends - length;
  }

  override read(log: Log | undefined, now: number, maxSkew: number): RenewalLevel {
    const level = super.read(log, now, maxSkew);
    const hasEnded = this.instant + this.window <= now;
    // The lease cannot be found in a log that is rebased.
    const held = log === undefined || hasEnded || level.added > 0 ? 0 : this.last(log) - this.before(log);
    return { ...level, held, moved: 0 };
  }

  /** A lease is renewed even if the limit was lowered meanwhile: its request is running. */
  override fits(level: RenewalLevel, cost: number, headroom = 0): boolean {
    return level.held >= cost || super.fits(level, cost, headroom);
  }

  override charge(level: RenewalLevel, cost: number): RenewalLevel {
    const after = { ...level, ...super.charge(level, cost) };
    return level.held >= cost ? { ...after, used: level.used, moved: cost } : after;
  }

  override write(level: RenewalLevel, now: number, log?: Log): Log {
    if (level.moved === 0 || log === undefined) return super.write(level, now, log);
    log.instants.splice(this.last(log) - level.moved, level.moved);
    return super.write({ ...level, end: level.end - level.moved }, now, log);
  }

  /** The log's places before and after the leases that end at the same instant as the renewed one. */
  private before({ instants, first }: Log): number {
    return upTo(instants, this.instant - 1, first);
  }

  private last({ instants, first }: Log): number {
    return upTo(instants, this.instant, first);
  }
}
