import type { Charge, Clock, RateLimitStore, Verdict } from 'nestjs-floodgate';
import type { StoreSettings } from 'nestjs-floodgate/testing';

/** A table of a database: every access takes a moment. */
export class Table {
  private readonly rows = new Map<string, unknown>();
  private queue: Promise<unknown> = Promise.resolve();

  async read(key: string): Promise<unknown> {
    await Promise.resolve();
    return structuredClone(this.rows.get(key));
  }

  async write(key: string, state: unknown): Promise<void> {
    await Promise.resolve();
    this.rows.set(key, structuredClone(state));
  }

  /** Runs one piece of work at a time. */
  transaction<T>(work: () => Promise<T>): Promise<T> {
    const result = this.queue.then(work);
    this.queue = result.catch(() => undefined);
    return result;
  }
}

/** A store of one's own, as docs/testing.md shows it. */
export class TableStore implements RateLimitStore {
  private readonly clock: Clock;
  private readonly maxSkew: number;

  constructor(
    private readonly table: Table,
    { clock, maxSkewMs }: StoreSettings,
  ) {
    this.clock = clock;
    this.maxSkew = maxSkewMs * 1000;
  }

  consume(charges: readonly Charge[]): Promise<Verdict> {
    return this.table.transaction(() => this.decide(charges));
  }

  async reset(keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.table.write(key, undefined);
  }

  protected async decide(charges: readonly Charge[]): Promise<Verdict> {
    const at = this.clock();
    const found = [];
    for (const { key, algorithm, cost, mode } of charges) {
      const state = await this.table.read(key);
      const isAhead = state !== undefined && algorithm.isAhead(state, at, this.maxSkew);
      const level = algorithm.read(state, at, this.maxSkew);
      const takes = cost > 0 && mode !== 'peek';
      found.push({ key, algorithm, state, isAhead, level, takes, cost: cost || 1 }); // cost 0 asks for 1
    }
    const allowed = found.every(({ algorithm, level, cost }) => algorithm.fits(level, cost));
    const verdicts = [];
    for (const { key, algorithm, state, isAhead, level, takes, cost } of found) {
      const fits = algorithm.fits(level, cost);
      const after = allowed && takes ? algorithm.charge(level, cost) : level;
      if ((allowed && takes) || isAhead) await this.table.write(key, algorithm.write(after, at, state));
      verdicts.push({
        allowed: fits,
        remaining: algorithm.remaining(after),
        resetAfter: algorithm.resetAfter(after),
        retryAfter: fits ? 0 : cost > algorithm.maxCost ? Infinity : algorithm.retryAfter(level, cost),
        delay: fits ? algorithm.delay(level) : 0,
      });
    }
    return { allowed, at, charges: verdicts };
  }
}

/** The same without a transaction: concurrent requests read one state, and each writes its own. */
export class RacingStore extends TableStore {
  override consume(charges: readonly Charge[]): Promise<Verdict> {
    return this.decide(charges);
  }
}
