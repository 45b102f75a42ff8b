import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { ChargeKeeper } from '../../../libs/floodgate/src/charges/charge-keeper.js';
import type { Receipt } from '../../../libs/floodgate/src/charges/judgement.js';
import { DueQueue } from '../../../libs/floodgate/src/holds/expiry/due-queue.js';
import { ExpiringCharges } from '../../../libs/floodgate/src/holds/expiry/expiring-charges.js';
import { ReservationSweep } from '../../../libs/floodgate/src/holds/expiry/reservation-sweep.js';
import type { ProgramRunner } from '../../../libs/floodgate/src/stores/redis/clients/client.js';
import { RedisReservationLog } from '../../../libs/floodgate/src/stores/redis/reservation-log.js';
import type { ChargeSettlement, SettledCharge } from '../../../libs/floodgate/src/stores/store.js';
import { unawaited } from '../../../libs/floodgate/src/util/unawaited.js';
import { algorithmOf } from '../../support/algorithm-of.js';
import { TestClock } from '../../support/test-clock.js';
import { newKey, ORIGIN, type Place, type Replay, type ReplayedStore, type Step } from './replay.js';

/** For so long the log keeps the mark of a claim. The reservation expires after 2 of them. */
const TICK = 30_000_000;
const [LIMIT, COST, REST, DUE] = [6, 3, 1, 2];
const BUDGET = algorithmOf({ algorithm: 'fixed-window', limit: LIMIT, window: '1d' });
const LOGGER = { warn: (): void => undefined };
/** Turns of the event loop: for a call that has to come, and for one that a process may make once it has an answer. */
const [MOST_TURNS, FEW_TURNS] = [10_000, 5];
const PATIENCE_MS = 20_000;

/** A call that the trace lets pass, or loses before or after it is run. */
interface Call {
  readonly name: string;
  readonly settlements: readonly ChargeSettlement[];
  finish(outcome: string): Promise<void>;
}

/** A process. Each of its calls waits for the trace. */
class Participant {
  readonly log: RedisReservationLog;
  private call: Call | undefined;
  private tasks: (() => void)[] = [];

  constructor(
    private readonly store: ReplayedStore,
    client: ProgramRunner,
    keys: string,
    clock: TestClock,
  ) {
    const held: ProgramRunner = {
      keyPrefix: client.keyPrefix,
      runByText: (...call) => client.runByText(...call),
      failureOf: (thrown) =>
        thrown instanceof Error && thrown.name === 'ReplyError' ? thrown : client.failureOf(thrown),
      runByHash: async (...call) => {
        const name = call[2][1]!;
        if (name === 'due') return client.runByHash(...call);
        return this.hold(name, [], async () => {
          try {
            return await client.runByHash(...call);
          } catch (error) {
            if (!String(error).includes('NOSCRIPT')) throw error;
            const { RESERVATIONS } =
              await import('../../../libs/floodgate/src/stores/redis/batch/programs.generated.js');
            return client.runByText(RESERVATIONS, call[1], call[2]);
          }
        });
      },
    };
    const time = { read: clock.read, maxSkew: 0 };
    const keyOf = (part: string): string => `${keys}:{reservations-${part}}`;
    this.log = new RedisReservationLog({ client: held }, keyOf, time, undefined, PATIENCE_MS, (_, task) =>
      this.later(task),
    );
  }

  readonly later = (task: () => void): (() => void) => {
    this.tasks.push(task);
    return () => void (this.tasks = this.tasks.filter((one) => one !== task));
  };

  readonly settle = (settlements: readonly ChargeSettlement[]): Promise<readonly (SettledCharge | undefined)[]> =>
    this.hold('settle', settlements, async () => this.store.settle(settlements));

  /** Lets its timers run. */
  runTimers(): void {
    for (const task of this.tasks.splice(0)) task();
  }

  /** The call that waits; undefined if none does once all answers are heard. */
  async waiting(name: string, isExpected = true): Promise<Call | undefined> {
    for (let turns = 0; this.call?.name !== name && turns < (isExpected ? MOST_TURNS : FEW_TURNS); turns++)
      await endOfTurn();
    if (isExpected && this.call?.name !== name) throw new Error(`the process makes no call '${name}'`);
    return this.call?.name === name ? this.call : undefined;
  }

  /** The process has died, or the trace has ended. */
  async die(): Promise<void> {
    await this.call?.finish('lost');
    this.tasks = [];
  }

  private hold<T>(name: string, settlements: readonly ChargeSettlement[], run: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.call = {
        name,
        settlements,
        finish: async (outcome) => {
          this.call = undefined;
          if (outcome === 'refused') reject(Object.assign(new Error('OOM'), { name: 'ReplyError' }));
          else if (outcome === 'lost') reject(new Error('lost'));
          else {
            const answer = await run();
            if (outcome === 'unheard') reject(new Error('lost'));
            else resolve(answer);
          }
          await endOfTurn();
        },
      };
    });
  }
}

export async function replayReservations({ open, client }: Place): Promise<Replay> {
  const clock = new TestClock(ORIGIN);
  const store = open(clock.read);
  const key = newKey('budget');
  const participants = Array.from({ length: 3 }, () => new Participant(store, client, 'spec', clock));
  const [owner] = participants as [Participant];
  // The log measures by it for how long a claim has had no answer.
  const value = (): number => (clock.now - ORIGIN) / 1_000;
  Object.defineProperty(performance, 'now', { value, configurable: true });
  let charges: ExpiringCharges;
  let isOver = false;

  const reserve = async (outcome: string): Promise<void> => {
    const charge = { key, algorithm: BUDGET, cost: COST, mode: 'reserve' } as const;
    const { charges: verdicts } = await store.consume([charge]);
    const proof = verdicts[0]!.receipt!;
    const policy = { name: 'budget', overdraft: 0, algorithm: BUDGET };
    const keeper = {
      by: 'store',
      open: { close: () => undefined },
      watches: [],
      checkCosts: () => undefined,
      settle: owner.settle,
      failure: (error: unknown) => error as Error,
    } as unknown as ChargeKeeper;
    const receipt = { index: 0, charge: { ...charge, policy }, proof, keeper } as unknown as Receipt;
    const dueAt = ORIGIN + DUE * TICK;
    const logged = owner.log.add([{ receipt: proof, finalCost: REST, overdraft: 0 }], dueAt);
    await (await owner.waiting('add'))!.finish(outcome);
    const queue = new DueQueue(
      (_, task) => owner.later(task),
      () => clock.now / 1_000,
    );
    charges = new ExpiringCharges([receipt], [REST], dueAt / 1_000, queue, logged, (answer) => answer, new Set());
  };

  /** A process asks the log whose the reservation is. Returns what it makes of the answer. */
  const claim = async (who: number, outcome: string): Promise<string> => {
    const process = participants[who]!;
    // Of the process whose reservation the log has refused, no question is sent.
    let call = await process.waiting('claim', false);
    if (call === undefined) process.runTimers();
    call ??= await process.waiting('claim', !(await process.waiting('settle', false)));
    const isLost = outcome === 'lost' || outcome === 'unheard';
    await call?.finish(isLost ? outcome : 'well');
    if (isLost) return outcome;
    const settled = await process.waiting('settle', outcome === 'own');
    return settled?.settlements[0]!.receipt.cost === COST && outcome !== 'unknown'
      ? 'own'
      : outcome === 'own'
        ? 'taken'
        : outcome;
  };

  const beyond = async (): Promise<number> => {
    const call = await owner.waiting('settle', false);
    const [settlement] = call?.settlements ?? [];
    await call?.finish('well');
    return settlement === undefined ? 0 : settlement.finalCost - settlement.receipt.cost;
  };

  return {
    async step({ does, who, outcome, numbers }: Step): Promise<Step> {
      const process = participants[who]!;
      let [decided, n] = [outcome, 0];
      if (does === 'tick') clock.now += TICK;
      else if (does === 'reserve') await reserve(outcome);
      else if (does === 'settle') unawaited(Promise.resolve(charges.settle([(n = numbers[0]!)])));
      else if (does === 'expire') process.runTimers();
      else if (does === 'look') {
        const sweep = new ReservationSweep(process.log, process.settle, LOGGER);
        unawaited(sweep.sweep().catch((error: unknown) => void (isOver || Promise.reject(error))));
        await process.waiting('claim');
      } else if (does === 'claim') decided = await claim(who, outcome);
      else if (does === 'make') await (await process.waiting('settle'))!.finish(outcome);
      else if (does === 'beyond') n = await beyond();
      else await process.die();
      const { charges: left } = await store.consume([{ key, algorithm: BUDGET, cost: 0 }]);
      return { does, who, outcome: decided, numbers: [n, LIMIT - left[0]!.remaining] };
    },
    async end() {
      isOver = true;
      Reflect.deleteProperty(performance, 'now');
      for (const process of participants) await process.die();
    },
  };
}
