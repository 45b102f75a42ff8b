import { setTimeout as sleep } from 'node:timers/promises';
import type { RateLimiter } from 'nestjs-floodgate';
import type { ExpiringReservations } from '../../../libs/floodgate/src/holds/expiry/expiring-reservations.js';
import { ADA, BUDGET } from '../support/expiring-budget.js';
import { openLimiter } from '../support/open-limiter.js';
import { answerCalls } from '../../../demo/processes/answer-calls.js';
import { randomOf } from '../../support/random.js';

interface Reserve {
  readonly count: number;
  readonly cost: number;
  readonly expiresMs: number;
  readonly atExpiry: number;
}

interface Race extends Reserve {
  readonly seed: number;
}

let limiter: RateLimiter;

export const procedures = {
  async connect(redis: string): Promise<void> {
    ({ limiter } = await openLimiter(redis));
  },

  /** Reserves, and settles nothing. */
  async reserve({ count, cost, expiresMs, atExpiry }: Reserve): Promise<number> {
    const made = await Promise.all(
      Array.from({ length: count }, () => limiter.reserve(BUDGET, ADA, { cost, expires: expiresMs, atExpiry })),
    );
    return made.filter(({ allowed }) => allowed).length;
  },

  /** Sweeps from now on as any process does that has reserved so. */
  async begin(): Promise<void> {
    await limiter.reserve({ ...BUDGET, name: 'another' }, ADA, { cost: 1, expires: '1h', atExpiry: 'cancel' });
  },

  /** Sweeps again and again. */
  async sweepFor(ms: number): Promise<void> {
    const ends = performance.now() + ms;
    while (performance.now() < ends) await (limiter['calls']['settling'] as ExpiringReservations)['sweep']!.sweep();
  },

  /** Settles reservations around their expiry. Returns what stays charged, by the answers. */
  async race({ seed, count, cost, expiresMs, atExpiry }: Race): Promise<{ charged: number }> {
    const random = randomOf(seed);
    let charged = 0;
    const one = async (): Promise<void> => {
      const reservation = await limiter.reserve(BUDGET, ADA, { cost, expires: expiresMs, atExpiry });
      const final = random(cost + 3);
      await sleep(random(2) * expiresMs * 0.9 + random(expiresMs * 0.3)); // half of them long before
      const settlement = await reservation.settle(final);
      if (settlement.settledBy !== 'store') throw new Error(JSON.stringify(settlement));
      charged += settlement.expired === true ? Math.max(final, atExpiry) : final;
    };
    await Promise.all(Array.from({ length: count }, one));
    return { charged };
  },
};

answerCalls(procedures);
