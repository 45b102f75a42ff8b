import { FixedWindow } from '../../libs/floodgate/src/algorithms/fixed-window/fixed-window.js';
import { givenIoredis } from '../../libs/floodgate/src/stores/redis/clients/ioredis-client.js';
import { RedisReservationLog } from '../../libs/floodgate/src/stores/redis/reservation-log.js';
import type { ReservationLog } from '../../libs/floodgate/src/stores/reservation-log.js';
import type { ChargeSettlement } from '../../libs/floodgate/src/stores/store.js';
import type { VirtualClock } from '../../libs/floodgate/src/testing/virtual-clock.js';
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
    where: 'that tests share in memory',
    use: () => (clock, _, most) => {
      const log = new SharedLog(clock.read, undefined, most);
      return Array.from({ length: PROCESSES }, () => log);
    },
  },
];

const DAY = 86_400_000_000;
let settlements = 0;

/** Settles a charge of 5 at 1, of a new identity. Instants are microseconds. */
export function settlement(prefix: string, at: number, lasts = DAY): ChargeSettlement {
  const algorithm = new FixedWindow(100, DAY);
  const key = `${prefix}:{user:${settlements++}}:app:day:fw:${DAY}`;
  return {
    receipt: { key, algorithm, at, resetAt: at + lasts, cost: 5, refundMarker: undefined },
    finalCost: 1,
    overdraft: 0,
  };
}
