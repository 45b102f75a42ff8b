import { wallClock } from '../../clock.js';
import type { Deadlines } from '../../deadlines.js';
import { judgeRejected } from '../../judge.js';
import type { Denials } from '../../denials.js';
import { receiptsOf } from '../../receipt.js';
import { isSharded, peekOf } from '../../charge.js';
import { type Charge, type ChargeReceipt, type ChargeVerdict, RateLimitStoreError, type Verdict } from '../../store.js';
import type { PendingRequest } from '../batch/pending-request.js';
import type { ClusterRouting } from './routing.js';
import type { ShardSpread } from './shard-spread.js';
import { ofWhole, Shards } from './shards.js';
import { SLOTS } from '../../slots.js';
import { crossSlotFailure, type CrossSlotRequest, type SlotAnswer, SlotClient } from './slot-client.js';

/** The charges of a request that share a slot, and their indexes in the request. */
interface Step {
  /** The key's slot. Behind all slots when the charge counts all clients together. */
  readonly order: number;
  readonly charges: Charge[];
  readonly indexes: number[];
}

/** A step that rejects, and when it was asked. */
interface Rejecting {
  readonly step: Step;
  readonly answer: SlotAnswer;
  readonly sentAt: number;
}

export interface CrossSlotSettings {
  readonly routing: Pick<ClusterRouting, 'slotOf'>;
  /** Puts a pending request into a batch; never throws. */
  readonly add: (pending: PendingRequest) => void;
  /** Sends refunds; a lost refund stays charged. */
  readonly refund: (receipts: readonly ChargeReceipt[]) => void;
  readonly deadlines?: Deadlines | undefined;
  readonly denials?: Denials | undefined;
  /** The turn of the event loop: requests of one turn ask the same shard. Default: see `Shards`. */
  readonly turn?: () => number;
  readonly spread?: ShardSpread | undefined;
}

/**
 * Decides requests whose keys lie in several slots of a Cluster, which no program sees together. It charges slot after slot. When
 * a slot rejects or fails, or the deadline falls, it refunds the other slots at once, and only once: a lost refund stays
 * charged. So a request is charged all or nothing up to a lost refund, and never admitted too often.
 *
 * All routes share one order: charges of one client before charges that count all clients, then by slot. In differing orders two
 * requests could each hold what the other needs, and both would be rejected.
 */
export class CrossSlot {
  private readonly slots: SlotClient;
  private readonly shards: Shards;

  constructor(private readonly settings: CrossSlotSettings) {
    this.slots = new SlotClient(settings.add, settings.refund);
    this.shards = new Shards(this.slots, settings.denials, settings.turn, settings.spread);
  }

  /** Rejects with the failure of a slot, or when all slots together were too slow, unless a slot has rejected the request. */
  async decide(charges: readonly Charge[]): Promise<Verdict> {
    const request: CrossSlotRequest = { late: false, wasAsked: false, charged: [] };
    const answer = this.take(charges, request);
    try {
      return await (this.settings.deadlines?.within(answer) ?? answer);
    } catch (error) {
      request.late = true;
      if (request.allowance !== undefined) return request.allowance;
      refund(request);
      if (request.rejection !== undefined) return request.rejection;
      throw crossSlotFailure(error, request);
    }
  }

  /** Refunds a request whose decision is no longer awaited. */
  refund(charges: readonly Charge[], verdict: Verdict): void {
    this.slots.receiptOf({ charges, verdict }).refund();
  }

  private async take(charges: readonly Charge[], request: CrossSlotRequest): Promise<Verdict> {
    const steps = this.stepsOf(charges, false);
    // Shadows are asked once the request is allowed: it must not wait for their refunds.
    const shadows = this.stepsOf(charges, true);
    const known = this.knownDenial(steps);
    if (known !== undefined) return this.reject(charges, [...steps, ...shadows], [], known, request);
    const answers: SlotAnswer[] = [];
    for (const step of steps) {
      const sentAt = performance.now();
      const answer = await this.ask(step.charges, request);
      request.charged.push(this.slots.receiptOf(answer));
      if (request.late) {
        refund(request);
        throw new RateLimitStoreError('the answer came too late');
      }
      if (!answer.verdict.allowed) {
        refund(request);
        return this.reject(
          charges,
          [...steps, ...shadows],
          answers,
          { step, answer, sentAt: answer.sentAt ?? sentAt },
          request,
        );
      }
      answers.push(answer);
    }
    const verdicts: ChargeVerdict[] = [];
    for (const [i, answer] of answers.entries()) place(steps[i]!, withReceipts(answer), verdicts);
    const decided = answers.at(-1);
    // If there are only shadows, the first answer gives the time.
    const at = decided?.verdict.at ?? wallClock();
    const allowance = { allowed: true, at, charges: verdicts };
    if (shadows.length === 0) return allowance;
    const answeredAt = await this.askShadows(shadows, allowance, verdicts, request);
    return decided === undefined ? { ...allowance, at: answeredAt ?? at } : allowance;
  }

  /**
   * Asks the shadows of an allowed request. One that does not answer in time is reported as untouched.
   *
   * @returns the instant of the first answer
   */
  private async askShadows(
    shadows: readonly Step[],
    allowance: Verdict,
    verdicts: ChargeVerdict[],
    request: CrossSlotRequest,
  ): Promise<number | undefined> {
    let at: number | undefined;
    for (const step of shadows) place(step, untouched(step.charges, allowance.at), verdicts);
    request.allowance = allowance;
    const asked = shadows.map(async (step) => {
      const answer = await this.ask(step.charges, request);
      at ??= answer.verdict.at;
      place(step, withReceipts(answer), verdicts);
    });
    await Promise.allSettled(asked);
    return at;
  }

  /** The steps in the order that all routes share. A sharded charge is a step of its own: its shards have their own slots. */
  private stepsOf(charges: readonly Charge[], shadows: boolean): Step[] {
    const steps: Step[] = [];
    for (const [i, charge] of charges.entries()) {
      if ((charge.shadow === true) !== shadows) continue;
      const order = this.settings.routing.slotOf(charge.key) + (charge.global === true ? SLOTS : 0);
      let step = isSharded(charge)
        ? undefined
        : steps.find((one) => one.order === order && !isSharded(one.charges[0]!));
      if (step === undefined) steps.push((step = { order, charges: [], indexes: [] }));
      step.charges.push(charge);
      step.indexes.push(i);
    }
    const byKey = (one: Step, other: Step): number => (one.charges[0]!.key < other.charges[0]!.key ? -1 : 1);
    return steps.toSorted((one, other) => one.order - other.order || byKey(one, other));
  }

  /** A step that is certain to reject. It saves charging the other steps only to refund them. */
  private knownDenial(steps: readonly Step[]): Rejecting | undefined {
    for (const step of steps) {
      const { charges } = step;
      const known = isSharded(charges[0]!) ? undefined : this.settings.denials?.findSent(charges);
      if (known !== undefined) return { step, answer: { charges, verdict: known.verdict }, sentAt: known.sentAt };
    }
    return undefined;
  }

  /**
   * The verdict on a request that one step rejects. Steps before it answer as if they had not been charged; the others are
   * peeked at now.
   */
  private async reject(
    charges: readonly Charge[],
    steps: readonly Step[],
    before: readonly SlotAnswer[],
    { step: rejecting, answer, sentAt }: Rejecting,
    request: CrossSlotRequest,
  ): Promise<Verdict> {
    const { at } = answer.verdict;
    const verdicts: ChargeVerdict[] = [];
    for (const [i, one] of before.entries()) place(steps[i]!, uncharged(one, steps[i]!.charges, at), verdicts);
    place(rejecting, answer.verdict.charges, verdicts);
    const others = steps.slice(before.length).filter((step) => step !== rejecting);
    // The rejection is certain already: a slot that does not answer in time is reported as untouched.
    for (const step of others) place(step, untouched(step.charges, at), verdicts);
    request.rejection = { allowed: false, at, charges: verdicts };
    const peeks = others.map(async (step) => place(step, await this.peek(step.charges, request), verdicts));
    await Promise.allSettled(peeks);
    // Noted under the client's key. The key that counts all clients holds that step's own denial, which is for all of them.
    this.settings.denials?.note(charges, request.rejection, sentAt, steps[0]!.charges[0]!.key);
    return request.rejection;
  }

  private async peek(charges: readonly Charge[], request: CrossSlotRequest): Promise<readonly ChargeVerdict[]> {
    return (await this.ask(charges.map(peekOf), request)).verdict.charges;
  }

  private ask(charges: readonly Charge[], request: CrossSlotRequest): Promise<SlotAnswer> {
    const [charge] = charges;
    return isSharded(charge!) ? this.shards.ask(charge!, request) : this.slots.ask(charges, request);
  }
}

function refund({ charged }: CrossSlotRequest): void {
  for (const receipt of charged.splice(0)) receipt.refund();
}

function place(step: Step, answers: readonly ChargeVerdict[], verdicts: ChargeVerdict[]): void {
  for (const [i, verdict] of answers.entries()) verdicts[step.indexes[i]!] = verdict;
}

/** The verdicts of a slot, with receipts: what identifies a charge is its shard, and an instant of its own slot's clock. */
function withReceipts({ charges, verdict }: SlotAnswer): readonly ChargeVerdict[] {
  const receipts = receiptsOf(charges, verdict);
  return verdict.charges.map((one, i) => {
    const receipt = receipts.find(({ key }) => key === charges[i]!.key);
    return receipt === undefined ? one : { ...one, receipt };
  });
}

/** The verdicts of a step that allowed the request, as if it had not been charged. */
function uncharged(
  { charges: asked, found }: SlotAnswer,
  charges: readonly Charge[],
  at: number,
): readonly ChargeVerdict[] {
  const answer = { charges: asked, verdict: judgeRejected(found!, at) };
  const [charge] = charges;
  return (isSharded(charge!) ? ofWhole(answer, charge!) : answer).verdict.charges;
}

/** The verdicts on states that nothing was taken from. */
function untouched(charges: readonly Charge[], at: number): readonly ChargeVerdict[] {
  const found = charges.map((charge) => ({ charge, level: charge.algorithm.read(undefined, at, 0) }));
  return judgeRejected(found, at).charges;
}
