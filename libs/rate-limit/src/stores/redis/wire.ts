import type { Algorithm } from '../../algorithms/algorithm.js';
import { askedCost, type BlockCharge, type Charge, reserves, takes } from '../charge.js';
import { wallClock } from '../clock.js';
import { leanProgramsOf, type ScriptCall } from './programs.js';
import type { Row } from './row.js';

/**
 * An algorithm's numbers on the wire.
 *
 * @param now the instant at which the program decides, about; undefined: by Redis's clock
 */
export function wireOf(algorithm: Pick<Algorithm, 'wire' | 'wireAt'>, now: number | undefined): readonly number[] {
  return algorithm.wireAt?.(now ?? wallClock()) ?? algorithm.wire;
}

/** The algorithm's name on the wire. */
export function programNameOf({ name, program = name }: { readonly name: string; readonly program?: string }): string {
  return program;
}

const wireTexts = new WeakMap<readonly number[], readonly string[]>();

/** The same as texts. */
function wireTextsOf(algorithm: Algorithm, now: number | undefined): readonly string[] {
  const numbers = wireOf(algorithm, now);
  if (numbers !== algorithm.wire) return numbers.map(String);
  let texts = wireTexts.get(numbers);
  if (texts === undefined) wireTexts.set(numbers, (texts = numbers.map(String)));
  return texts;
}

/** ARGV[1] of the program. */
export function textOf(now: number | undefined): string {
  return now === undefined ? 'redis' : String(now);
}

/** How many numbers of the reply are for the receipt of a reservation. */
export function stampLength(charge: Charge | BlockCharge): number {
  return reserves(charge) ? ((charge as Charge).algorithm.stampLength ?? 0) : 0;
}

/** The charges of a row, blocks included. */
export function placesOf(charges: readonly Charge[]): number {
  let places = charges.length;
  for (let i = 0; i < charges.length; i++) if (charges[i]!.block !== undefined) places++;
  return places;
}

/**
 * The call of the lean program for the only row of a batch; undefined if the row needs more than that. The header of lua/lean.lua
 * describes the wire.
 *
 * @param now as of `Batch.encode`
 * @param maxSkew as of `Batch.encode`
 */
export function leanCall({ first, count }: Row, now: number | undefined, maxSkew: number): ScriptCall | undefined {
  const charge = first.charges[0]!;
  if (placesOf(first.charges) > 1 || charge.shadow === true || stampLength(charge) > 0) return undefined;
  const { key, algorithm, cost } = charge;
  const take = takes(charge) ? cost : 0;
  const { one, any } = leanProgramsOf(programNameOf(algorithm));
  const numbers = wireTextsOf(algorithm, now);
  if (now === undefined && take === 1 && count === 1) return { program: one, keys: 1, args: [key, ...numbers] };
  const asked = `${textOf(now)} ${maxSkew} ${askedCost(charge)} ${take} ${count}`;
  return { program: any, keys: 1, args: [key, asked, ...numbers] };
}

/** The JSON of a charge's policy in ARGV[3] of the program. */
export function policyText(charge: Charge | BlockCharge, now: number | undefined): string {
  const { algorithm } = charge;
  const take = takes(charge) ? charge.cost : 0;
  const shadow = charge.shadow === true ? 'shadow:' : '';
  const reserve = stampLength(charge) > 0 ? ',1' : '';
  const numbers = wireOf(algorithm, now).join();
  return `["${shadow}${programNameOf(algorithm)}",${askedCost(charge)},${take},${numbers}${reserve}]`;
}
