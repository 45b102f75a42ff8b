import { setImmediate as endOfTurn } from 'node:timers/promises';
import { Engine } from '../../libs/rate-limit/src/engine/engine.js';
import { Fallback } from '../../libs/rate-limit/src/engine/fallback.js';
import { LayeredStore } from '../../libs/rate-limit/src/engine/layered-store.js';
import { ExpiringReservations } from '../../libs/rate-limit/src/engine/settling/expiry/expiring-reservations.js';
import { Monitor } from '../../libs/rate-limit/src/metrics/monitor.js';
import { Deadlines } from '../../libs/rate-limit/src/stores/deadlines.js';
import type { ReservationLog } from '../../libs/rate-limit/src/stores/reservation-log.js';
import type {
  Charge,
  ChargeSettlement,
  Clock,
  RateLimitStore,
  SettledCharge,
  Verdict,
} from '../../libs/rate-limit/src/stores/store.js';
import type { Timer } from '../../libs/rate-limit/src/stores/timer.js';
import { traitsOf } from '../../libs/rate-limit/src/stores/traits.js';
import { andThen } from '../../libs/rate-limit/src/util/answer.js';

/** A call of a store, in the order in which the process made them. */
export type Called =
  | { readonly charges: readonly Charge[]; verdict?: Verdict }
  | { readonly settlements: readonly ChargeSettlement[]; settled?: readonly (SettledCharge | undefined)[] };

/** Where a process keeps its limits, and its open reservations for the others. */
export interface Shared {
  readonly store: RateLimitStore;
  /** Undefined: there are no others. */
  readonly log: ReservationLog | undefined;
}

const NEVER_MS = 1e9;
const PATIENCE_MS = 120_000;

/** A timer that a test runs. */
class HeldTimer {
  private waiting: { readonly at: number; readonly run: () => void }[] = [];

  constructor(private readonly clock: Clock) {}

  readonly timer: Timer = (ms, run) => {
    const task = { at: this.clock() + Math.round(ms * 1_000), run };
    this.waiting.push(task);
    return () => {
      this.waiting = this.waiting.filter((one) => one !== task);
    };
  };

  /** Runs what is due. */
  run(): void {
    for (;;) {
      const due = this.waiting.find(({ at }) => at <= this.clock());
      if (due === undefined) return;
      this.waiting = this.waiting.filter((one) => one !== due);
      due.run();
    }
  }
}

/** A process that reserves, without HTTP and Nest. A test runs its timer, and sees its calls of the store. */
export class ReservingProcess {
  readonly engine: Engine;
  readonly expiring: ExpiringReservations;
  /** The calls since they were last taken. */
  private called: Called[] = [];
  private readonly held: HeldTimer;
  private inFlight = 0;

  constructor({ store, log }: Shared, clock: Clock, mostOpen: number) {
    const logger = {
      log: () => undefined,
      warn: (text: string) => {
        // A reservation that nothing settles at its expiry is said, and any other warning is a failure of the store.
        if (!text.includes('in no log')) throw new Error(text);
      },
      error: () => undefined,
    };
    const deadlines = new Deadlines(PATIENCE_MS);
    const layered = new LayeredStore({ store: this.noting(store), deadlines }, logger);
    const fallback = new Fallback({ onStoreFailure: 'closed', localShare: 1, fallbackMaxBytes: 1e6 }, logger);
    this.engine = new Engine('rl', layered, fallback, new Monitor({}, logger));
    this.held = new HeldTimer(clock);
    this.expiring = new ExpiringReservations(
      {
        decide: (charges) => this.engine.decide(charges),
        settle: (settlements) => layered.settle(settlements),
        within: (answer) => deadlines.within(answer),
        traits: layered.traits,
        log: log && this.counting(log),
        timer: this.held.timer,
        nowMs: () => clock() / 1_000,
        sweepMs: NEVER_MS,
        mostOpen,
      },
      logger,
    );
  }

  /** Runs the timer if something is due. */
  runTimer(): void {
    this.held.run();
  }

  /** Settles what is due of the processes that died. */
  async sweep(): Promise<void> {
    await this.expiring['sweep']?.sweep();
  }

  /** Resolves once every call is answered. */
  async idle(): Promise<void> {
    for (let quiet = 0; quiet < 2; quiet = this.inFlight === 0 ? quiet + 1 : 0) await endOfTurn();
  }

  takeCalls(): Called[] {
    const { called } = this;
    this.called = [];
    return called;
  }

  private noting(store: RateLimitStore): RateLimitStore {
    return {
      supports: store.supports ?? [],
      // A fast path would decide past this.
      traits: { ...traitsOf(store), plain: undefined },
      reset: (keys) => store.reset(keys),
      consume: (charges) => {
        const call: Called = { charges };
        this.called.push(call);
        return this.counted(andThen(store.consume(charges), (verdict) => (call.verdict = verdict)));
      },
      settle: (settlements) => {
        const call: Called = { settlements };
        this.called.push(call);
        return this.counted(
          andThen(store.settle!(settlements) as Promise<readonly (SettledCharge | undefined)[]>, (settled) => {
            call.settled = settled;
            return settled;
          }),
        );
      },
    };
  }

  private counting(log: ReservationLog): ReservationLog {
    return {
      add: (settlements, dueAt) => {
        const logged = log.add(settlements, dueAt);
        return { written: this.counted(logged.written), claim: () => this.counted(logged.claim()) };
      },
      takeDue: () => this.counted(log.takeDue()),
    };
  }

  private counted<A>(answer: A): A {
    if (!(answer instanceof Promise)) return answer;
    this.inFlight++;
    return answer.finally(() => this.inFlight--) as A;
  }
}
