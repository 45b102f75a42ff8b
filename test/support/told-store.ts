import type { RateLimitStore } from 'nestjs-floodgate';
import type { Charge, Verdict } from 'nestjs-floodgate/testing';
import { StillStore } from './still-store.js';

/** A store of an application: it records all charges, and answers as the test says. */
export class ToldStore implements RateLimitStore {
  /** Every request's charges, in their order. */
  readonly asked: (readonly Charge[])[] = [];

  constructor(private readonly answer: (charges: readonly Charge[]) => Verdict | Promise<Verdict>) {}

  /** Never answers. */
  static hanging(): ToldStore {
    return new ToldStore(() => new Promise(() => {}));
  }

  static failing(): ToldStore {
    return new ToldStore(() => Promise.reject(new Error('gone')));
  }

  /** Decides as a `StillStore`, some turns of the event loop later. */
  static slow(): ToldStore {
    const memory = new StillStore();
    return new ToldStore(async (charges) => {
      for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
      return memory.consume(charges);
    });
  }

  consume(charges: readonly Charge[]): Verdict | Promise<Verdict> {
    this.asked.push(charges);
    return this.answer(charges);
  }

  reset(): void {}
}

/** The names of the policies that a store was asked about, for each request. */
export function policiesOf(asked: readonly (readonly Charge[])[]): string[][] {
  return asked.map((charges) => charges.map(({ key }) => key.split(':').at(-3)!));
}
