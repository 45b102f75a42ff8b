// @nestjs/throttler is CommonJS and requires Nest, which is ESM. Node can do that and Jest cannot, so Node loads it, beside Jest.
import { runInThisContext } from 'node:vm';

const node = runInThisContext('process') as NodeJS.Process;
const { createRequire } = node.getBuiltinModule('node:module');

/** The real @nestjs/throttler. */
export const theirs = createRequire(import.meta.url)('@nestjs/throttler') as typeof import('@nestjs/throttler');

/** The class that it reads the time from. */
const TheirDate = runInThisContext('Date') as DateConstructor;

/** A clock that only moves when told, for the real @nestjs/throttler and for Floodgate. Dispose of it, to give back the real time. */
export class SharedClock implements Disposable {
  private readonly real = TheirDate.now;
  private ms: number;

  constructor(start = 1_800_000_000_000) {
    this.ms = start;
    TheirDate.now = () => this.ms;
  }

  /** For a `MemoryStore`. */
  readonly microseconds = (): number => this.ms * 1000;

  advance(ms: number): void {
    this.ms += ms;
  }

  [Symbol.dispose](): void {
    TheirDate.now = this.real;
  }
}
