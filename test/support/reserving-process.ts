import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { Engine } from '../../libs/floodgate/src/engine/engine.js';
import type { LayeredStore } from '../../libs/floodgate/src/engine/layered-store.js';
import { ExpiringReservations } from '../../libs/floodgate/src/holds/expiry/expiring-reservations.js';
import { partsAlone } from '../../libs/floodgate/src/limiter/parts-alone.js';
import { storeAlone } from '../../libs/floodgate/src/limiter/opened-store.js';
import { readLimiterOptions } from '../../libs/floodgate/src/limiter/options-table.js';
import type { ReservationLog } from '../../libs/floodgate/src/stores/reservation-log.js';
import type { Clock, RateLimitStore } from '../../libs/floodgate/src/stores/store.js';
import type { Timer } from '../../libs/floodgate/src/stores/timer.js';
import type { StoreTraits } from '../../libs/floodgate/src/stores/traits.js';

const NEVER_MS = 1e9;
const PATIENCE_MS = 120_000;

interface More {
  readonly traits?: Partial<StoreTraits>;
  readonly mostOpen?: number;
  /** Default: the test runs what is due. */
  readonly timer?: Timer;
  /** Default: a warning is an error. */
  readonly warn?: (text: string) => void;
}

/** A process that reserves, without HTTP and Nest, on a store in memory. A test runs its timer. */
export class ReservingProcess {
  readonly engine: Engine;
  readonly expiring: ExpiringReservations;
  private waiting: { readonly at: number; readonly run: () => void }[] = [];

  /** @param log what processes share; undefined: there are no others */
  constructor(
    store: RateLimitStore,
    log: ReservationLog | undefined,
    private readonly clock: Clock,
    { traits, mostOpen, timer, warn = fail }: More = {},
  ) {
    const logger = { log: () => undefined, warn, error: warn };
    const options = readLimiterOptions({ onStoreFailure: 'closed' }, 'test');
    const { engine, layered } = partsAlone(options, storeAlone(store, PATIENCE_MS), logger);
    this.engine = engine;
    const settings = {
      decide: (charges: Parameters<Engine['decide']>[0]) => this.engine.decide(charges),
      settle: (settlements: Parameters<LayeredStore['settle']>[0]) => layered.settle(settlements),
      within: <T>(answer: Promise<T>) => layered.deadlines.within(answer),
      traits: { ...layered.traits, ...traits },
      log,
      timer:
        timer ??
        ((ms: number, run: () => void) => {
          const task = { at: clock() + Math.round(ms * 1_000), run };
          this.waiting.push(task);
          return () => void (this.waiting = this.waiting.filter((one) => one !== task));
        }),
      nowMs: () => clock() / 1_000,
      sweepMs: NEVER_MS,
      mostOpen,
    };
    this.expiring = new ExpiringReservations(settings, logger);
  }

  /** Runs what is due of the timer, and resolves once it is done. */
  async runTimer(): Promise<void> {
    for (;;) {
      const due = this.waiting.find(({ at }) => at <= this.clock());
      if (due === undefined) break;
      this.waiting = this.waiting.filter((one) => one !== due);
      due.run();
    }
    await endOfTurn();
  }

  /** Settles what is due of all processes. */
  async sweep(): Promise<void> {
    await this.expiring['sweep']?.sweep();
    await endOfTurn();
  }
}

function fail(text: string): never {
  throw new Error(text);
}
