import type { Algorithm } from './algorithm.js';

/** An algorithm whose charges are leases: a request holds one, and releases it by a refund. */
export interface Lease {
  /** Microseconds after which a lease expires unless it is renewed. */
  readonly length: number;
  /** Microseconds after which a lease that `grant` took expires unless it is renewed: at most `length`. */
  readonly granted: number;
  /**
   * The algorithm whose charge takes a lease for `granted`. The answer may be lost, and then no process
   * releases the lease. The first renewal by its holder makes it a whole one.
   */
  readonly grant: Algorithm;
  /**
   * The algorithm whose charge renews the lease that ends at `resetAt`. If that lease has ended, the charge takes another one,
   * if it fits.
   */
  renewal(resetAt: number): Algorithm;
}
