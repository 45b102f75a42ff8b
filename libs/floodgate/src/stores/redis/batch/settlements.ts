import { isWhole } from '../../../algorithms/core/algorithm.js';
import { bytesPerCost } from '../../../algorithms/core/footprint.js';
import type { ChargeSettlement, SettledCharge } from '../../store.js';

/** The numbers that the reply has for a settled charge. */
export const SETTLED_LENGTH = 2;

/** The numbers of a charge in ARGV[5] of the program, whose header describes the wire. */
export function settlementText({ receipt, finalCost, overdraft }: ChargeSettlement): string {
  const { at, resetAt, cost, refundMarker } = receipt;
  const marker =
    refundMarker === undefined || refundMarker.length === 0 ? '0' : `${refundMarker.length},${refundMarker.join()}`;
  return `${at},${resetAt},${cost},${finalCost},${overdraft},${marker}`;
}

/** Whether the numbers of a reply, from `offset` on, say what was settled. */
export function areSettled(reply: readonly unknown[], offset: number, charges: number): boolean {
  for (let i = offset; i < offset + SETTLED_LENGTH * charges; i++) if (!isWhole(reply[i], 0)) return false;
  return true;
}

/** Reads what the program has settled, from the numbers of its checked reply at `offset`. */
export function readSettled(
  settlements: readonly ChargeSettlement[],
  reply: readonly number[],
  offset: number,
): readonly SettledCharge[] {
  return settlements.map(({ receipt: { algorithm } }, i) => ({
    refunded: reply[offset + SETTLED_LENGTH * i]! / (algorithm.refunds?.unit ?? 1),
    charged: reply[offset + SETTLED_LENGTH * i + 1]!,
  }));
}

/** Entries that a settlement adds to logs at most. */
export function addedBy({ receipt, finalCost }: ChargeSettlement): number {
  return bytesPerCost(receipt.algorithm) > 0 ? Math.max(0, finalCost - receipt.cost) : 0;
}
