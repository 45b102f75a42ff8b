/** How far settlements may exceed the limit. An algorithm without it charges no more than was reserved. */
export interface Overdraft<Level = unknown> {
  /** The largest overdraft, in cost. */
  readonly max: number;
  /** The largest cost that a settlement may charge at this level; 0 or less: none. */
  room(level: Level, overdraft: number): number;
}

/** The overdraft of an algorithm that counts how much of its limit is used. */
export class CountedOverdraft<Level> implements Overdraft<Level> {
  /** @param most what one settlement may charge */
  constructor(
    private readonly algorithm: { readonly limit: number; used(level: Level): number },
    readonly max: number,
    private readonly most = Infinity,
  ) {}

  room(level: Level, overdraft: number): number {
    return Math.min(this.most, this.algorithm.limit + overdraft - this.algorithm.used(level));
  }
}

/** The overdraft of a bucket: its debt exceeds a full bucket. */
export class BucketOverdraft implements Overdraft<number> {
  constructor(
    private readonly bucket: { readonly full: number; readonly ticksPerToken: number },
    readonly max: number,
  ) {}

  room(debt: number, overdraft: number): number {
    const { full, ticksPerToken } = this.bucket;
    return Math.floor((full - debt + overdraft * ticksPerToken) / ticksPerToken);
  }
}

/** The overdraft of an algorithm whose level has a bucket's debt. */
export class DebtOverdraft implements Overdraft<{ readonly debt: number }> {
  readonly max: number;

  constructor(private readonly bucket: Overdraft<number>) {
    this.max = bucket.max;
  }

  room({ debt }: { readonly debt: number }, overdraft: number): number {
    return this.bucket.room(debt, overdraft);
  }
}
