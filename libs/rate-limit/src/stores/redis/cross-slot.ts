import type { Algorithm } from '../../algorithms/algorithm.js';
import type { Deadlines } from '../deadlines.js';
import type { DenialCache } from '../../limiter/denial-cache.js';
import { type Charge, type ChargeVerdict, RateLimitStoreError, type ChargeReceipt, type Verdict } from '../store.js';
import { type Found, judgeRejected } from '../judge.js';
import { Receipt, receiptsOf } from '../receipt.js';
import type { PendingRequest } from './batch.js';

const SLOTS = 16_384;

/** What a slot said to the charges that lie in it, and the levels that it found; a remembered refusal has none. */
interface Answer {
  readonly charges: readonly Charge[];
  readonly verdict: Verdict;
  readonly found?: readonly Found[] | undefined;
  /** When the slot was asked, of a remembered refusal. */
  readonly sentAt?: number;
}

/** The charges of a request that share a slot, and their places in the request. */
interface Step {
  /** The key's slot, and behind all slots where it counts everybody. */
  readonly order: number;
  readonly charges: Charge[];
  readonly places: number[];
}

/** A step that refuses, and when it was asked. */
interface Refused {
  readonly step: Step;
  readonly answer: Answer;
  readonly sentAt: number;
}

/** A request under way. */
interface Course {
  /** Whether nobody waits for it any more. */
  late: boolean;
  /** What it was charged so far. */
  readonly charged: Receipt[];
  /** What it is told at the latest when the deadline falls, once it is refused. */
  refusal?: Verdict;
}

/** What a policy's shards have in common. */
interface Share {
  readonly shards: number;
  readonly keys: readonly string[];
  /** Of each. */
  readonly algorithm: Algorithm;
  /** Where the policy's next request begins: each process somewhere else, so that the shards are taken from alike. */
  next: number;
}

/** What decides in one slot. */
export interface SlotStore {
  /** The slot of a key, 0 to 16,383. */
  slotOf(key: string): number;
  /** Asks; never throws. */
  enqueue(pending: PendingRequest): void;
  /** Never rejects: what is lost stays charged. */
  refund(taken: readonly ChargeReceipt[]): Promise<void>;
}

/**
 * Decides requests whose keys lie in several slots of a Cluster, where no program sees them all: it charges slot after slot,
 * and when one refuses, fails, or the deadline falls, what the others were charged is given back at once. Never again, so that
 * a charge whose give-back is lost stays: all or nothing up to that, and never too much.
 *
 * The order is the same for every route: clients before everybody, then by slot. In differing orders two requests could hold
 * what the other one needs, and both would be refused.
 *
 * It also asks the shards of a policy that is split among several keys, one after the other, until one of them lets the
 * request pass.
 */
export class CrossSlot {
  /** By the list of its keys. */
  private readonly shares = new WeakMap<readonly string[], Share>();

  constructor(
    private readonly store: SlotStore,
    private readonly deadlines: Deadlines | undefined,
    private readonly denials: DenialCache | undefined,
  ) {}

  /** Rejects with what a slot failed with, or when all of them together were too slow, unless one of them has refused. */
  async decide(charges: readonly Charge[]): Promise<Verdict> {
    const course: Course = { late: false, charged: [] };
    const answer = this.take(charges, course);
    try {
      return await (this.deadlines?.within(answer) ?? answer);
    } catch (error) {
      course.late = true;
      this.refund(course);
      if (course.refusal !== undefined) return course.refusal;
      throw error;
    }
  }

  private async take(charges: readonly Charge[], course: Course): Promise<Verdict> {
    const steps = this.stepsOf(charges);
    const known = this.rememberedBy(steps);
    if (known !== undefined) return this.refusal(charges, steps, [], known, course);
    const answers: Answer[] = [];
    for (const step of steps) {
      const sentAt = performance.now();
      const answer = await this.ask(step.charges, course);
      course.charged.push(this.receiptOf(answer));
      if (course.late) {
        this.refund(course);
        throw new RateLimitStoreError('the answer came too late');
      }
      if (!answer.verdict.allowed) {
        this.refund(course);
        const { sentAt: rememberedSince = sentAt } = answer;
        return this.refusal(charges, steps, answers, { step, answer, sentAt: rememberedSince }, course);
      }
      answers.push(answer);
    }
    const verdicts: ChargeVerdict[] = [];
    for (const [i, { verdict }] of answers.entries()) place(steps[i]!, verdict.charges, verdicts);
    // Of a queue the instant at which it handed out the slot: the two together tell which slot it is, should it be given back.
    const queued = answers.find(({ verdict }) => verdict.charges.some(({ delay }) => delay > 0));
    return { allowed: true, at: (queued ?? answers.at(-1)!).verdict.at, charges: verdicts };
  }

  private refund({ charged }: Course): void {
    for (const receipt of charged.splice(0)) receipt.refund();
  }

  /** In the one order that all routes have. The shards of a policy have slots of their own. */
  private stepsOf(charges: readonly Charge[]): Step[] {
    const steps: Step[] = [];
    for (const [i, charge] of charges.entries()) {
      const order = this.store.slotOf(charge.key) + (charge.global === true ? SLOTS : 0);
      let step = isSharded(charge)
        ? undefined
        : steps.find((one) => one.order === order && !isSharded(one.charges[0]!));
      if (step === undefined) steps.push((step = { order, charges: [], places: [] }));
      step.charges.push(charge);
      step.places.push(i);
    }
    const byKey = (one: Step, other: Step): number => (one.charges[0]!.key < other.charges[0]!.key ? -1 : 1);
    return steps.toSorted((one, other) => one.order - other.order || byKey(one, other));
  }

  /** A step that is certain to refuse: then nobody is charged, and given back, only to be told so. */
  private rememberedBy(steps: readonly Step[]): Refused | undefined {
    for (const step of steps) {
      const known = isSharded(step.charges[0]!) ? undefined : this.denials?.findSent(step.charges);
      if (known === undefined) continue;
      return { step, answer: { charges: step.charges, verdict: known.verdict }, sentAt: known.sentAt };
    }
    return undefined;
  }

  /**
   * What each policy says to a request that one step refuses: those that were asked before as if they had not been, the others
   * are asked now.
   */
  private async refusal(
    charges: readonly Charge[],
    steps: readonly Step[],
    before: readonly Answer[],
    { step: refusing, answer, sentAt }: Refused,
    course: Course,
  ): Promise<Verdict> {
    const { at } = answer.verdict;
    const verdicts: ChargeVerdict[] = [];
    for (const [i, one] of before.entries()) place(steps[i]!, unchanged(one, steps[i]!.charges, at), verdicts);
    place(refusing, answer.verdict.charges, verdicts);
    const others = steps.slice(before.length).filter((step) => step !== refusing);
    // The refusal is certain already: a slot that does not answer, or not in time, is said to be untouched.
    for (const step of others) place(step, untouched(step.charges, at), verdicts);
    course.refusal = { allowed: false, at, charges: verdicts };
    const looks = others.map(async (step) => place(step, await this.look(step.charges, course), verdicts));
    await Promise.allSettled(looks);
    // Under the client's key: under one that counts everybody stands what that step says to all of them.
    this.denials?.note(charges, course.refusal, sentAt, steps[0]!.charges[0]!.key);
    return course.refusal;
  }

  /** What they would say. */
  private async look(charges: readonly Charge[], course: Course): Promise<readonly ChargeVerdict[]> {
    const looking = charges.map((charge): Charge => ({ ...charge, mode: 'peek' }));
    return (await this.ask(looking, course)).verdict.charges;
  }

  private ask(charges: readonly Charge[], course: Course): Promise<Answer> {
    return isSharded(charges[0]!) ? this.askShards(charges[0]!, course) : this.askSlot(charges);
  }

  private askSlot(charges: readonly Charge[]): Promise<Answer> {
    return new Promise((resolve, reject) => {
      let gaveUp = false;
      this.store.enqueue({
        charges,
        next: undefined,
        keepsLevels: true,
        resolve: (verdict, found) => {
          // It was charged after all, and nobody went on with it.
          if (gaveUp) this.receiptOf({ charges, verdict }).refund();
          else resolve({ charges, verdict, found });
        },
        reject: (error) => {
          gaveUp = true;
          reject(error);
        },
      });
    });
  }

  /** Fails only where no shard can be asked: those that can are what is left of the limit, and refuse for all. */
  private async askShards(charge: Charge, course: Course): Promise<Answer> {
    const share = this.shareOf(charge);
    const { shards, keys } = share;
    const first = share.next++;
    const refused: Answer[] = [];
    let failure: unknown;
    for (let i = 0; i < shards && !course.late; i++) {
      const asked = [{ ...charge, key: keys[(first + i) % shards]!, algorithm: share.algorithm, shardKeys: undefined }];
      const remembered = this.denials?.findSent(asked);
      try {
        const answer = remembered ? { charges: asked, ...remembered } : await this.askSlot(asked);
        if (answer.verdict.allowed) return ofAll(answer, charge);
        refused.push(answer);
      } catch (error) {
        failure = error;
      }
    }
    if (refused.length === 0) throw failure ?? new RateLimitStoreError('the answer came too late');
    return refusedByAll(refused);
  }

  private receiptOf({ charges, verdict }: Answer): Receipt {
    const receipts = verdict.allowed ? receiptsOf(charges, verdict) : [];
    return new Receipt(receipts, (lines) => void this.store.refund(lines));
  }

  private shareOf({ algorithm, shardKeys: keys = [] }: Charge): Share {
    const shards = keys.length;
    let share = this.shares.get(keys);
    if (share === undefined) {
      share = { shards, keys, algorithm: algorithm.share(shards, 1), next: Math.floor(Math.random() * shards) };
      this.shares.set(keys, share);
    }
    return share;
  }
}

/** Whether it is split among several keys. */
export function isSharded({ shardKeys }: Charge): boolean {
  return shardKeys !== undefined;
}

function place(step: Step, said: readonly ChargeVerdict[], verdicts: ChargeVerdict[]): void {
  for (const [i, verdict] of said.entries()) verdicts[step.places[i]!] = verdict;
}

/** What those say that passed it, had it not been charged. */
function unchanged(
  { charges: asked, found }: Answer,
  charges: readonly Charge[],
  at: number,
): readonly ChargeVerdict[] {
  const answer = { charges: asked, verdict: judgeRejected(found!, at) };
  const [charge] = charges;
  return (isSharded(charge!) ? ofAll(answer, charge!) : answer).verdict.charges;
}

/** What those say of which nothing is taken. */
function untouched(charges: readonly Charge[], at: number): readonly ChargeVerdict[] {
  const found = charges.map((charge) => ({ charge, level: charge.algorithm.read(undefined, at, 0) }));
  return judgeRejected(found, at).charges;
}

/** What a shard says, for the whole: as if the others had as much left as it has. */
function ofAll({ charges, verdict, found }: Answer, { algorithm, shardKeys }: Charge): Answer {
  const [said] = verdict.charges;
  const remaining = Math.min(algorithm.limit, said!.remaining * shardKeys!.length);
  return { charges, found, verdict: { ...verdict, charges: [{ ...said!, remaining }] } };
}

/** What they have left together, when all of that is whole again, and when the first of them lets the request pass. */
function refusedByAll(refused: readonly Answer[]): Answer {
  const said = refused.map(({ verdict }) => verdict.charges[0]!);
  const soonest = said.reduce((one, other) => (other.retryAfter < one.retryAfter ? other : one));
  const remaining = said.reduce((sum, one) => sum + one.remaining, 0);
  const resetAfter = said.reduce((longest, one) => Math.max(longest, one.resetAfter), 0);
  const { charges, verdict } = refused[said.indexOf(soonest)]!;
  const sentAt = refused.reduce((first, one) => Math.min(first, one.sentAt ?? Infinity), Infinity);
  return {
    charges,
    verdict: { ...verdict, charges: [{ ...soonest, remaining, resetAfter }] },
    ...(sentAt < Infinity && { sentAt }),
  };
}
