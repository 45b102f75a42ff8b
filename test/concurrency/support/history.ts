import type { Decision } from 'nestjs-floodgate';

/** One policy's decision on a request of cost 1, in whole microseconds of the store's clock. */
export interface Seen {
  readonly at: number;
  readonly allowed: boolean;
  readonly remaining: number;
  readonly resetAfter: number;
  readonly retryAfter: number;
  readonly delay: number;
}

const FIELDS = 6;

/** Decisions as numbers, to travel between processes. */
export class Recorder {
  private readonly numbers: number[] = [];

  add({ decidedAtMs, decidedBy, policies: [policy] }: Decision): void {
    if (policy === undefined) throw new Error(`Nothing was decided (${decidedBy})`);
    const { allowed, remaining, resetAfterMs, retryAfterMs, delayMs } = policy;
    this.numbers.push(micros(decidedAtMs), Number(allowed), remaining);
    this.numbers.push(micros(resetAfterMs), micros(retryAfterMs!), micros(delayMs));
  }

  take(): Float64Array {
    return Float64Array.from(this.numbers.splice(0));
  }
}

/** The histories of several processes as one, in the order of the store's clock. */
export function merge(histories: readonly (readonly Seen[])[]): Seen[] {
  return histories.flat().toSorted(byTurn);
}

export function parse(numbers: Float64Array): Seen[] {
  const history: Seen[] = [];
  for (let i = 0; i < numbers.length; i += FIELDS) {
    history.push({
      at: numbers[i]!,
      allowed: numbers[i + 1] === 1,
      remaining: numbers[i + 2]!,
      resetAfter: numbers[i + 3]!,
      retryAfter: numbers[i + 4]!,
      delay: numbers[i + 5]!,
    });
  }
  return history;
}

/**
 * Of equal requests at the same microsecond, those that found more left were decided earlier. Their decisions differ by the
 * level only, so this is the one order that explains them.
 */
function byTurn(a: Seen, b: Seen): number {
  return a.at - b.at || Number(b.allowed) - Number(a.allowed) || b.remaining - a.remaining || a.delay - b.delay;
}

function micros(ms: number): number {
  return Math.round(ms * 1000);
}
