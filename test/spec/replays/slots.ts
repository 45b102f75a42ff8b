import { setImmediate as endOfTurn } from 'node:timers/promises';
import { chargeOf, inPlaceOf, type PolicyCharge } from '../../../libs/floodgate/src/charges/policy-charge.js';
import { ElseLayer } from '../../../libs/floodgate/src/layers/alternatives/else.js';
import { bindPolicy } from '../../../libs/floodgate/src/policy/bound-policy.js';
import { parsePolicy } from '../../../libs/floodgate/src/policy/parse-policy.js';
import type { Deadlines } from '../../../libs/floodgate/src/stores/deadlines.js';
import { CrossSlot } from '../../../libs/floodgate/src/stores/redis/cluster/cross-slot.js';
import type { PendingRequest } from '../../../libs/floodgate/src/stores/redis/batch/pending-request.js';
import type { ChargeReceipt, Verdict } from '../../../libs/floodgate/src/stores/store.js';
import { TestClock } from '../../support/test-clock.js';
import { newKey, ORIGIN, type Place, type Replay, type ReplayedStore, type Step } from './replay.js';

/** Places of OWN, OTHER and ALL. The order of their slots is the one of the model, whatever their names hash to. */
const LIMITS = [1, 1, 2];

/** A process that decides one request. Its calls are run, answered and lost when the trace says so. */
class Deciding {
  outcome = 'going';
  private pending: PendingRequest | undefined;
  private answer: Verdict | undefined;
  private miss: () => void = () => undefined;

  constructor(
    private readonly store: ReplayedStore,
    charges: readonly PolicyCharge[],
    refund: (receipts: readonly ChargeReceipt[]) => void,
  ) {
    const missed = new Promise<never>((_, reject) => {
      this.miss = () => reject(new Error('the deadline has fallen'));
    });
    missed.catch(() => undefined);
    const slotOf = (key: string): number => Number(key.at(-1));
    const deadlines = { ms: Infinity, within: async (answer: Promise<Verdict>) => Promise.race([answer, missed]) };
    const crossSlot = new CrossSlot({
      routing: { slotOf },
      add: (pending) => void (this.pending = pending),
      refund,
      deadlines: deadlines as unknown as Deadlines,
    });
    const layer = new ElseLayer({
      inner: { decide: async (request) => ({ ...(await crossSlot.decide(request.charges)), source: 'store' }) },
      monitor: { ranOver: () => undefined },
      overrides: { exemptsOrBlocks: () => undefined },
      decidesAlternatives: () => false,
      deadlines: { ms: Infinity },
      abandoned: () => undefined,
    });
    void Promise.resolve(layer.decide({ charges })).then(
      ({ allowed }) => (this.outcome = allowed ? 'admitted' : 'rejected'),
      () => (this.outcome = 'failed'),
    );
  }

  async decide(): Promise<void> {
    this.answer = await this.store.consume(this.pending!.charges);
  }

  async hear(): Promise<void> {
    const { pending, answer } = this;
    this.pending = undefined;
    pending!.resolve(
      answer!,
      pending!.charges.map((charge) => ({ charge, level: charge.algorithm.read(undefined, ORIGIN, 0) })),
    );
    await this.peeked();
  }

  async lose(): Promise<void> {
    const { pending } = this;
    this.pending = undefined;
    pending!.reject(new Error('lost'));
    await this.peeked();
  }

  async deadline(): Promise<void> {
    this.miss();
    await endOfTurn();
  }

  /** A rejection is told with peeks at the other slots. They charge nothing: the model does without them. */
  private async peeked(): Promise<void> {
    await endOfTurn();
    while (this.pending?.charges.every(({ cost, mode }) => cost === 0 || mode === 'peek') === true) {
      await this.decide();
      const { pending, answer } = this;
      this.pending = undefined;
      pending.resolve(answer!, undefined);
      await endOfTurn();
    }
  }
}

export function replaySlots({ open }: Place): Replay {
  const store = open(new TestClock(ORIGIN).read);
  const key = newKey('slots');
  const [own, other, all] = LIMITS.map((limit, i) => {
    const given = { name: `p${i}`, algorithm: 'fixed-window', limit, window: '1d' } as const;
    const policy = bindPolicy(parsePolicy(given, 'test'), 'rl', 'app', 'test');
    return { ...chargeOf(policy, 'user:ada', 1, 'take'), key: `${key}:${i}` };
  }) as [PolicyCharge, PolicyCharge, PolicyCharge];
  const charges = [{ ...own, instead: (head: PolicyCharge) => inPlaceOf(head, other) }, all];
  const requests: Deciding[] = [];
  /** Refunds that are on their way, by policy. */
  const refunds: ChargeReceipt[][] = [[], [], []];
  const refund = (receipts: readonly ChargeReceipt[]): void => {
    for (const receipt of receipts) refunds[Number(receipt.key.at(-1))]!.push(receipt);
  };
  return {
    async step({ does, who, outcome }: Step): Promise<Step> {
      let decided = outcome;
      if (does === 'begin') requests[who] = new Deciding(store, charges, refund);
      else if (does === 'decide') await requests[who]!.decide();
      else if (does === 'answer') await requests[who]!.hear();
      else if (does === 'lose') await requests[who]!.lose();
      else if (does === 'deadline') await requests[who]!.deadline();
      else {
        const receipt = refunds[who]!.pop();
        if (receipt === undefined) throw new Error('nothing is refunded');
        if (outcome === 'well') await store.refund([receipt]);
      }
      if (does !== 'refund') decided = requests[who]!.outcome;
      const left = await Promise.all([own, other, all].map(async (charge) => store.consume([{ ...charge, cost: 0 }])));
      return { does, who, outcome: decided, numbers: left.map((one) => one.charges[0]!.remaining) };
    },
  };
}
