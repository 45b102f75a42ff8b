import { isWhole } from '../../../algorithms/core/algorithm.js';
import { copyOf, type Found, type FoundBlock, judge } from '../../judge.js';
import type { Denials } from '../../denials.js';
import { abandonedBy, type ChargeReceipt } from '../../receipt.js';
import { RateLimitStoreError } from '../../store.js';
import { type PendingRequest, rejectAll } from './pending-request.js';
import { ELSEWHERE, failureOf, isInstant, UnusableReplyError } from './reply.js';
import type { Row } from './row.js';
import { areSettled, readSettled, SETTLED_LENGTH } from './settlements.js';
import { refundMarkerLength } from './wire.js';

/**
 * Checks that the program can have sent a reply: it has the length that the rows need, and each number is in range.
 *
 * @param now the instant that was sent as ARGV[1]; undefined: Redis's clock
 * @param maxSkew ARGV[2], in microseconds
 * @param byNode whether one node of a Cluster was asked, which may leave requests undecided
 * @throws {UnusableReplyError}
 */
export function checkReply(
  rows: readonly Row[],
  reply: unknown,
  now: number | undefined,
  maxSkew: number,
  byNode: boolean,
): asserts reply is readonly number[] {
  if (!Array.isArray(reply) || !isInstant(reply[0], now)) throw new UnusableReplyError(reply);
  let offset = 1;
  for (const { first } of rows) {
    if (failureOf(reply[offset]) !== undefined || (byNode && reply[offset] === ELSEWHERE)) {
      offset++;
      continue;
    }
    const { charges, settlements } = first;
    if (settlements !== undefined) {
      if (!areSettled(reply, offset, settlements.length)) throw new UnusableReplyError(reply);
      offset += SETTLED_LENGTH * settlements.length;
      continue;
    }
    for (let i = 0; i < charges.length; i++) {
      const { algorithm, block } = charges[i]!;
      if (!algorithm.wire.isLevel(reply, offset, maxSkew)) throw new UnusableReplyError(reply);
      offset += algorithm.wire.replyLength;
      for (const end = offset + refundMarkerLength(charges[i]!); offset < end; offset++) {
        if (!isWhole(reply[offset], 0)) throw new UnusableReplyError(reply);
      }
      if (block === undefined) continue;
      if (!block.algorithm.wire.isLevel(reply, offset, maxSkew)) throw new UnusableReplyError(reply);
      offset += block.algorithm.wire.replyLength;
    }
  }
  if (offset !== reply.length) throw new UnusableReplyError(reply);
}

/**
 * Answers every row from the program's checked reply.
 *
 * @param sentAt when the rows were sent, for `denials`
 * @param abandoned gets the receipts of what requests hold that the deadline has failed; undefined before the deadline
 * @returns the rows that the node did not decide, in their order; undefined when it decided all
 */
export function answerRows(
  rows: readonly Row[],
  reply: readonly number[],
  denials: Denials | undefined,
  sentAt: number,
  abandoned: ChargeReceipt[] | undefined,
): Row[] | undefined {
  const at = reply[0]!;
  let offset = 1;
  let undecided: Row[] | undefined;
  for (const row of rows) {
    const { first } = row;
    if (reply[offset] === ELSEWHERE) {
      offset++;
      undecided ??= [];
      undecided.push(row);
      continue;
    }
    const failure = failureOf(reply[offset]);
    if (failure !== undefined) {
      offset++;
      rejectAll(first, new RateLimitStoreError(failure), false);
      continue;
    }
    if (first.settlements !== undefined) {
      first.resolve(readSettled(first.settlements, reply, offset));
      offset += SETTLED_LENGTH * first.settlements.length;
      continue;
    }
    const { charges } = first;
    const found: Found[] = [];
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]!;
      const level = charge.algorithm.wire.decode(reply, offset);
      offset += charge.algorithm.wire.replyLength;
      let refundMarker: readonly number[] | undefined;
      const length = refundMarkerLength(charge);
      if (length > 0) refundMarker = reply.slice(offset, (offset += length));
      let block: FoundBlock | undefined;
      if (charge.block !== undefined) {
        block = { charge: charge.block, level: charge.block.algorithm.wire.decode(reply, offset) };
        offset += charge.block.algorithm.wire.replyLength;
      }
      found.push({ charge, level, block, refundMarker });
    }
    for (let pending: PendingRequest | undefined = first; pending !== undefined; pending = pending.next) {
      const before = pending.keepsLevels === true ? found.map(copyOf) : undefined;
      const verdict = judge(found, at);
      denials?.note(charges, verdict, sentAt);
      if (abandoned === undefined || pending.isPatient === true) pending.resolve(verdict, before);
      else abandoned.push(...abandonedBy(charges, verdict));
    }
  }
  return undecided;
}
