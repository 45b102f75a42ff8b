import { isWhole } from '../../../algorithms/algorithm.js';
import { type ChargeSettlement, RateLimitStoreError, type SettledCharge } from '../../store.js';
import { failureOf, isInstant, UnusableReplyError } from './reply.js';
import { wireOf } from './wire.js';

/**
 * ARGV[3] to ARGV[5] of the program. Its header describes the wire.
 *
 * @param now the instant that is sent as ARGV[1]; undefined: Redis's clock
 */
export function settlementArguments(settlements: readonly ChargeSettlement[], now: number | undefined): string[] {
  const policies = settlements.map(({ receipt: { algorithm, cost } }) => {
    return `["${algorithm.wire.program}",${cost || 1},${cost},${wireOf(algorithm.wire, now).join()}]`;
  });
  const charges = settlements.map(({ receipt: { at, resetAt, cost, refundMarker = [] }, finalCost, overdraft }) => {
    return `[${[at, resetAt, cost, finalCost, overdraft, ...refundMarker].join()}]`;
  });
  return [`[${policies.join()}]`, '', `[${charges.join()}]`];
}

/**
 * What the program has settled.
 *
 * @param now as of `isInstant`
 * @throws {RateLimitStoreError} when a key cannot be read: nothing was settled then
 * @throws {UnusableReplyError} when the reply is not the program's
 */
export function readSettled(
  settlements: readonly ChargeSettlement[],
  reply: unknown,
  now: number | undefined,
): SettledCharge[] {
  if (!Array.isArray(reply) || !isInstant(reply[0], now)) throw new UnusableReplyError(reply);
  const failure = failureOf(reply[1]);
  if (failure !== undefined && reply.length === 2) throw new RateLimitStoreError(failure);
  const numbers = reply.slice(1);
  if (numbers.length !== 2 * settlements.length || !numbers.every((number) => isWhole(number, 0))) {
    throw new UnusableReplyError(reply);
  }
  return settlements.map(({ receipt: { algorithm } }, i) => ({
    refunded: numbers[2 * i] / (algorithm.refunds?.unit ?? 1),
    charged: numbers[2 * i + 1],
  }));
}
