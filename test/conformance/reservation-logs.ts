import type { Receipt } from '../../libs/rate-limit/src/engine/judgement.js';
import { ReservationClosedError } from '../../libs/rate-limit/src/engine/errors.js';
import { DueQueue } from '../../libs/rate-limit/src/engine/settling/expiry/due-queue.js';
import { ExpiringCharges } from '../../libs/rate-limit/src/engine/settling/expiry/expiring-charges.js';
import { OpenCharges } from '../../libs/rate-limit/src/engine/settling/open-charges.js';
import { Reservation } from '../../libs/rate-limit/src/engine/settling/reservation.js';
import { givenIoredis } from '../../libs/rate-limit/src/stores/redis/clients/ioredis-client.js';
import { RedisReservationLog } from '../../libs/rate-limit/src/stores/redis/reservation-log.js';
import type {
  DueReservations,
  LoggedReservation,
  ReservationClaim,
  ReservationLog,
} from '../../libs/rate-limit/src/stores/reservation-log.js';
import type { ChargeSettlement } from '../../libs/rate-limit/src/stores/store.js';
import type { VirtualClock } from '../../libs/rate-limit/src/testing/virtual-clock.js';
import { useRedis } from '../support/redis-fixture.js';
import { SharedLog } from '../support/shared-log.js';

/** Opens one log for each process; all of them have the same reservations, at most so many: in Redis in each key. */
export type OpenLogs = (clock: VirtualClock, prefix: string, most?: number) => readonly ReservationLog[];

/** What keeps the open reservations of processes, and gives them once they are due. */
export interface LogKind {
  /** The end of the titles. */
  readonly where: string;
  /** Registers hooks in the current `describe`. */
  readonly use: () => OpenLogs;
}

const PROCESSES = 5;
const MANY = 1_000;

/**
 * A single process without a log: its timer gives what is due, and its callers take out what they settle. The store is not there: the
 * settlements show what each has got.
 */
class OwnReservations implements ReservationLog {
  private readonly queue: DueQueue;
  private expired: (readonly ChargeSettlement[])[] = [];

  constructor(
    private readonly clock: VirtualClock,
    most: number,
  ) {
    this.queue = new DueQueue(clock.timer, () => clock.nowMs, most);
  }

  add(settlements: readonly ChargeSettlement[], dueAt: number): LoggedReservation {
    const receipts = settlements.map(({ receipt }) => this.receiptOf(receipt));
    const finalCosts = settlements.map(({ finalCost }) => finalCost);
    const within = <T>(answer: Promise<T>): Promise<T> => answer;
    const charges = new ExpiringCharges(receipts, finalCosts, dueAt / 1_000, this.queue, undefined, within);
    const reservation = new Reservation({ allowed: true } as never, charges);
    const written = charges.isTimed ? Promise.resolve() : Promise.reject(new Error('too many reservations are open'));
    written.catch(() => undefined);
    return { written, claim: () => claimOf(reservation, settlements[0]!.receipt.cost) };
  }

  async takeDue(): Promise<DueReservations> {
    this.clock.advance(0);
    const taken = this.expired;
    this.expired = [];
    return { taken, more: false, malformed: 0 };
  }

  private receiptOf(proof: ChargeSettlement['receipt']): Receipt {
    const { key, algorithm, cost } = proof;
    const policy = { name: 'day', algorithm, overdraft: 0 };
    const keeper = {
      by: 'store',
      open: new OpenCharges(),
      checkCosts: () => undefined,
      settle: (settlements: readonly ChargeSettlement[]) => {
        // A caller that is late is charged more, which is no expiry.
        if (settlements.every(({ receipt, finalCost }) => finalCost < receipt.cost)) this.expired.push(settlements);
        return settlements.map(() => ({ refunded: 0, charged: 0 }));
      },
    };
    return { index: 0, charge: { key, algorithm, cost, mode: 'reserve', policy }, proof, keeper } as never;
  }
}

/** Settles at the reserved cost, which changes nothing in the store: the answer says whether the expiry came before. */
async function claimOf(reservation: Reservation, cost: number): Promise<ReservationClaim> {
  try {
    return (await reservation.settle(cost)).expired === true ? 'taken' : 'own';
  } catch (error) {
    if (error instanceof ReservationClosedError) return 'taken';
    throw error;
  }
}

/** Every log. The last one is that of the tests, which share a store in memory. */
export const EVERY_LOG: readonly LogKind[] = [
  {
    where: 'in Redis',
    use: () => {
      const redis = useRedis();
      return (clock, prefix, most = MANY) =>
        Array.from(
          { length: PROCESSES },
          () =>
            new RedisReservationLog(
              { client: givenIoredis(redis.client) },
              (part) => `${prefix}:{reservations-${part}}`,
              { read: clock.read, maxSkew: 0 },
              { entries: most, taken: 64 },
            ),
        );
    },
  },
  {
    where: 'of a single process, whose timer settles',
    use:
      () =>
      (clock, _, most = MANY) => [new OwnReservations(clock, most)],
  },
  {
    where: 'that tests share in memory',
    use: () => (clock, _, most) => {
      const log = new SharedLog(clock.read, undefined, most);
      return Array.from({ length: PROCESSES }, () => log);
    },
  },
];
