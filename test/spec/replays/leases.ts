import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { ChargeKeeper } from '../../../libs/floodgate/src/charges/charge-keeper.js';
import type { Receipt } from '../../../libs/floodgate/src/charges/judgement.js';
import { type HeldLease, Leases } from '../../../libs/floodgate/src/holds/leases/leases.js';
import { abandonedBy, receiptsOf } from '../../../libs/floodgate/src/stores/receipt.js';
import type { Charge, ChargeReceipt, Verdict } from '../../../libs/floodgate/src/stores/store.js';
import { algorithmOf } from '../../support/algorithm-of.js';
import { TestClock } from '../../support/test-clock.js';
import { newKey, ORIGIN, type Place, type Replay, type ReplayedStore, type Step } from './replay.js';

/** A lease is granted for 2 ticks, and renewed for 4. */
const TICK = 2_500_000;
const PLACES = algorithmOf({ algorithm: 'concurrency', limit: 2, lease: '10s' });
const MOST_ROUNDS = 8;

/** A request in a process of its own. The network lets an answer come when the trace says so. */
class Holder {
  private tasks: (() => void)[] = [];
  private readonly leases = new Leases({ warn: () => undefined }, (_, task) => {
    this.tasks.push(task);
    return () => undefined;
  });
  private lease: HeldLease | undefined;
  /** What its process has sent, and not heard of. */
  private renewal:
    | { readonly charges: readonly Charge[]; readonly answer: (verdict: Verdict) => void; readonly fail: () => void }
    | undefined;
  private answered: Verdict | undefined;
  private released: readonly ChargeReceipt[] = [];
  private late: readonly ChargeReceipt[] = [];

  constructor(
    private readonly store: ReplayedStore,
    private readonly key: string,
  ) {}

  async take(outcome: string): Promise<string> {
    const charge = { key: this.key, algorithm: PLACES.lease!.grant, cost: 1 };
    const verdict = await this.store.consume([charge]);
    if (!verdict.allowed) return 'none';
    if (outcome === 'late') this.late = abandonedBy([charge], verdict);
    if (outcome !== 'well') return outcome;
    const [proof] = receiptsOf([charge], verdict);
    const keeper = {
      refund: (receipts) => void (this.released = receipts),
      decidePatiently: (charges) =>
        new Promise<Verdict>(
          (answer, fail) => void (this.renewal = { charges, answer, fail: () => fail(new Error('lost')) }),
        ),
      failure: (error) => error as Error,
    } as ChargeKeeper;
    const receipt = {
      index: 0,
      charge: { ...charge, policy: { name: 'places' } },
      proof,
      keeper,
    } as unknown as Receipt;
    [this.lease] = this.leases.of([receipt]);
    this.lease!.keep();
    return 'well';
  }

  async arrive(): Promise<void> {
    await this.store.refund(this.late);
  }

  /** Lets time pass for its process until it asks for a renewal. */
  async renew(outcome: string): Promise<string> {
    for (let i = 0; this.renewal === undefined; i++) {
      if (i === MOST_ROUNDS) throw new Error('the lease is not renewed');
      for (const task of this.tasks.splice(0)) task();
    }
    this.answered = await this.store.consume(this.renewal.charges);
    if (outcome === 'late') return 'late';
    const { allowed } = this.answered;
    if (outcome === 'lost') await this.hear(({ fail }) => fail());
    else await this.hear(({ answer }) => answer(this.answered!));
    return outcome === 'lost' ? 'lost' : allowed ? 'well' : 'none';
  }

  async renewed(): Promise<void> {
    await this.hear(({ answer }) => answer(this.answered!));
    await this.store.refund(this.released);
  }

  async release(outcome: string): Promise<void> {
    this.lease!.release();
    if (outcome === 'late' && this.released.length > 0)
      throw new Error('it is released before the renewal is answered');
    if (outcome === 'well') await this.store.refund(this.released);
  }

  private async hear(what: (renewal: NonNullable<Holder['renewal']>) => void): Promise<void> {
    const { renewal } = this;
    this.renewal = undefined;
    what(renewal!);
    await endOfTurn();
  }
}

export function replayLeases({ open }: Place): Replay {
  const clock = new TestClock(ORIGIN);
  const store = open(clock.read);
  const key = newKey('leases');
  const holders: Holder[] = [];
  return {
    async step({ does, who, outcome }: Step): Promise<Step> {
      let decided = outcome;
      if (does === 'tick') clock.now += TICK;
      else if (does === 'take') decided = await (holders[who] = new Holder(store, key)).take(outcome);
      else if (does === 'arrive') await holders[who]!.arrive();
      else if (does === 'renew') decided = await holders[who]!.renew(outcome);
      else if (does === 'renewed') await holders[who]!.renewed();
      else if (does === 'release') await holders[who]!.release(outcome);
      const { charges } = await store.consume([{ key, algorithm: PLACES, cost: 0 }]);
      return { does, who, outcome: decided, numbers: [charges[0]!.remaining] };
    },
  };
}
