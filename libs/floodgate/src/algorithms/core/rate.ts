import { durationToMicroseconds } from '../../util/duration.js';

/**
 * A rate of tokens or departures: a number per second, or `'<count>/<duration>'` such as `'600/m'`, `'10000/d'`,
 * `'1/500ms'`. Greater than 0, at most 1e9 per second.
 */
export type Rate = number | `${number}/${string}`;

/** `tokens` per `microseconds`: a reduced fraction of whole numbers that are small enough for exact arithmetic. */
export interface ExactRate {
  readonly tokens: number;
  readonly microseconds: number;
  /** Whether the rate had to be rounded down to a fraction that fits. */
  readonly rounded: boolean;
}

/** These two bounds keep tokens x microseconds of skew, plus capacity x microseconds per token, below 2^53. */
const MAX_TOKENS = 100_000_000n;
const MAX_FULL = 2n ** 52n;
const HUNDRED_YEARS = 36_525n * 86_400_000_000n;

/** Whether a bucket of `places` tokens can count `tokens` per `microseconds` exactly. */
export function isCountable(tokens: number, microseconds: number, places: number): boolean {
  return tokens >= 1 && tokens <= Number(MAX_TOKENS) && microseconds >= 1 && microseconds * places <= Number(MAX_FULL);
}

/** More characters than any rate that can be counted needs. */
const LONGEST_DECIMAL = 500;
const DECIMAL = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;

/** Reads the text of a decimal number as an exact fraction. */
function fraction(text: string): [numerator: bigint, denominator: bigint] | undefined {
  // The time that BigInt takes for a text grows with the square of its length.
  const match = text.length > LONGEST_DECIMAL ? null : DECIMAL.exec(text.trim());
  if (match === null) return undefined;
  const [, whole = '', decimals = '', exponent = '0'] = match;
  const shift = Number(exponent) - decimals.length;
  if (Math.abs(shift) > 400) return undefined;
  const digits = BigInt(whole + decimals);
  return shift >= 0 ? [digits * 10n ** BigInt(shift), 1n] : [digits, 10n ** BigInt(-shift)];
}

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b);
}

/**
 * The largest fraction p/q <= a/b with p <= maxP and q <= maxQ, by descent of the Stern-Brocot tree. a/b is reduced, and exceeds
 * one of them.
 */
function floorFraction(a: bigint, b: bigint, maxP: bigint, maxQ: bigint): [p: bigint, q: bigint] {
  const least = (...values: bigint[]): bigint => values.reduce((x, y) => (y < x ? y : x));
  let [lowP, lowQ, highP, highQ] = [0n, 1n, 1n, 0n];
  for (;;) {
    const below = a * lowQ - lowP * b;
    const above = highP * b - a * highQ;
    const wanted = below / above;
    const steps = least(wanted, (maxP - lowP) / highP, highQ > 0n ? (maxQ - lowQ) / highQ : wanted);
    lowP += steps * highP;
    lowQ += steps * highQ;
    if (steps < wanted) return [lowP, lowQ];
    const raised = (above - 1n) / (below - steps * above);
    highP += raised * lowP;
    highQ += raised * lowQ;
  }
}

/**
 * Reduces a rate to whole tokens per whole microseconds that a bucket of `places` tokens can count exactly. It rounds *down*
 * where it must: a third per second becomes a fraction just below it.
 *
 * @throws {RangeError} a message without a subject, such as `must be at most 1e9 per second`
 */
export function exactRate(rate: unknown, places: number): ExactRate {
  const wanted = `a number per second greater than 0, or a count and a duration such as '600/m' or '10000/d'`;
  let tokens: [bigint, bigint] | undefined;
  let microseconds = 1_000_000;
  if (typeof rate === 'number' && Number.isFinite(rate)) {
    tokens = fraction(String(rate));
  } else if (typeof rate === 'string') {
    const [count = '', unit, ...rest] = rate.split('/');
    if (unit !== undefined && rest.length === 0) {
      tokens = fraction(count);
      microseconds = durationToMicroseconds(/^\s*[a-z]/i.test(unit) ? `1${unit.trim()}` : unit) ?? NaN;
    }
  }
  if (tokens === undefined || tokens[0] === 0n || Number.isNaN(microseconds)) throw new RangeError(`must be ${wanted}`);

  const numerator = tokens[0];
  const denominator = tokens[1] * BigInt(microseconds);
  if (numerator > denominator * 1000n) throw new RangeError('must be at most 1e9 per second');
  if (BigInt(places) * denominator > numerator * HUNDRED_YEARS) {
    throw new RangeError(`must be fast enough to pay off ${places} within 100 years`);
  }
  const reduced = fitted(numerator, denominator, places);
  if (reduced.tokens === 0) {
    throw new RangeError(`must be faster, or the capacity smaller, to be counted exactly (below 2^52)`);
  }
  return reduced;
}

/** One process's equal part of a rate, for a bucket of `places` tokens; rounded down where it must be. */
export function shareOfRate(rate: ExactRate, processes: number, places: number): ExactRate {
  const share = fitted(BigInt(rate.tokens), BigInt(rate.microseconds) * BigInt(processes), places);
  // The part is too slow to count exactly, so the slowest countable rate replaces it: a token takes about a century.
  return share.tokens > 0 ? share : { tokens: 1, microseconds: Number(MAX_FULL / BigInt(places)), rounded: true };
}

/** Reduces and rounds a fraction of tokens per microsecond; 0 tokens mean that the rate is too slow to count. */
function fitted(numerator: bigint, denominator: bigint, places: number): ExactRate {
  const divisor = gcd(numerator, denominator);
  const exact = [numerator / divisor, denominator / divisor] as const;
  const maxQ = MAX_FULL / BigInt(places);
  const fits = exact[0] <= MAX_TOKENS && exact[1] <= maxQ;
  const [p, q] = fits ? exact : floorFraction(...exact, MAX_TOKENS, maxQ);
  return { tokens: Number(p), microseconds: Number(q), rounded: !fits };
}
