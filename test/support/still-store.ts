import { MemoryStore } from 'nestjs-floodgate';
import type { Charge, Verdict } from 'nestjs-floodgate/testing';

/** A `MemoryStore` whose clock moves only by the test. It records all charges. */
export class StillStore extends MemoryStore {
  /** Every request's charges, in their order. */
  readonly asked: (readonly Charge[])[] = [];
  private readonly time: { us: number };

  constructor() {
    const time = { us: Date.UTC(2024, 0, 1) * 1000 };
    super({ clock: () => time.us });
    this.time = time;
  }

  /** The keys of all charges, each once. */
  get keys(): string[] {
    return [...new Set(this.asked.flat().map(({ key }) => key))];
  }

  advance(ms: number): void {
    this.time.us += ms * 1000;
  }

  override consume(charges: readonly Charge[]): Verdict {
    this.asked.push(charges);
    return super.consume(charges);
  }
}
