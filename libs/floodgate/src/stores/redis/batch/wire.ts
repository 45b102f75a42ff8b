import type { WireFormat } from '../../../algorithms/core/wire-format.js';
import { askedCost, type BlockCharge, type Charge, neverFits, takes, tellsShortfall } from '../../charge.js';
import { wallClock } from '../../clock.js';
import { LEAN, type Program, type ScriptCall } from './programs.js';
import type { Row } from './row.js';

/**
 * An algorithm's numbers on the wire.
 *
 * @param now the approximate instant at which the program decides; undefined with Redis's clock
 */
export function wireOf(wire: WireFormat, now: number | undefined): readonly number[] {
  return wire.numbersAt?.(now ?? wallClock()) ?? wire.numbers;
}

const leanNumbers = new WeakMap<readonly number[], readonly string[]>();

/** The count of an algorithm's numbers, then the numbers: ARGV[3] and the following of its lean program. */
function leanNumbersOf(wire: WireFormat, now: number | undefined): readonly string[] {
  const numbers = wireOf(wire, now);
  const isConstant = numbers === wire.numbers;
  let texts = isConstant ? leanNumbers.get(numbers) : undefined;
  if (texts === undefined) {
    texts = [String(numbers.length), ...numbers.map(String)];
    if (isConstant) leanNumbers.set(numbers, texts);
  }
  return texts;
}

/** ARGV[1] of the program. */
export function textOf(now: number | undefined): string {
  return now === undefined ? 'redis' : String(now);
}

/** How many numbers of the reply are for the receipt of a reservation, or for a shortfall. */
export function refundMarkerLength(charge: Charge | BlockCharge): number {
  return tellsShortfall(charge) ? ((charge as Charge).algorithm.refunds?.markers?.length ?? 0) : 0;
}

/** The `ask` of a charge. What never fits asks for more than the limit: only this process knows the largest cost of a log. */
function askOf(charge: Charge | BlockCharge): number {
  const asked = askedCost(charge);
  return neverFits(charge as Charge) ? Math.max(asked, charge.algorithm.limit + 1) : asked;
}

/** The number of charges in a row, blocks included. */
export function placesOf(charges: readonly Charge[]): number {
  let places = charges.length;
  for (let i = 0; i < charges.length; i++) if (charges[i]!.block !== undefined) places++;
  return places;
}

/** The lean program that can decide a request with these charges; undefined if none can. */
export function leanProgramOf(charges: readonly Charge[]): Program | undefined {
  const charge = charges[0]!;
  if (charges.length > 1 || charge.block !== undefined || charge.shadow === true) return undefined;
  return refundMarkerLength(charge) > 0 ? undefined : LEAN.get(charge.algorithm.wire.program);
}

/**
 * The call of a lean program for rows of one charge each, whose charges differ in their keys alone. The header of lua/lean.lua
 * describes the wire.
 *
 * @param program what `leanProgramOf` returned
 * @param now see `Batch.encode`
 * @param maxSkew see `Batch.encode`
 */
export function leanCall(program: Program, rows: readonly Row[], now: number | undefined, maxSkew: number): ScriptCall {
  const charge = rows[0]!.first.charges[0]!;
  const [ask, take] = [askOf(charge), takes(charge) ? charge.cost : 0];
  const args: string[] = [];
  let counts = '';
  for (let i = 0; i < rows.length; i++) {
    const { first, count } = rows[i]!;
    args.push(first.charges[0]!.key);
    if (count > 1) counts ||= countsOf(rows);
  }
  const isPlain = now === undefined && take === 1;
  const asked = isPlain ? (ask === 1 ? '' : String(ask)) : `${textOf(now)} ${maxSkew} ${ask} ${take}`;
  args.push(asked, counts, ...leanNumbersOf(charge.algorithm.wire, now));
  return { program, keys: rows.length, args };
}

function countsOf(rows: readonly Row[]): string {
  return String.fromCharCode(...rows.flatMap(({ count }) => [count >>> 7, count & 127]));
}

/** The JSON of a charge's policy in ARGV[3] of the program. */
export function policyText(charge: Charge | BlockCharge, now: number | undefined): string {
  const { wire } = charge.algorithm;
  const take = takes(charge) ? charge.cost : 0;
  const mark = charge.shadow === true ? 'shadow:' : (charge as Charge).alternative === true ? 'instead:' : '';
  const reserve = refundMarkerLength(charge) > 0 ? ',1' : '';
  const numbers = wireOf(wire, now).join();
  return `["${mark}${wire.program}",${askOf(charge)},${take},${numbers}${reserve}]`;
}
