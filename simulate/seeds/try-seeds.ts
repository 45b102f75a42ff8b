import { UsageError, valuesOf } from '../../tools/command-line.js';
import { trySeed } from './seeds.js';
import { SEED_STRATEGIES } from './strategies/strategies.js';
import type { SeedStrategy } from './strategy.js';

const OPTIONS = {
  seeds: { type: 'string' },
  from: { type: 'string', default: '1' },
  strategy: { type: 'string' },
} as const;
const MOST = 2 ** 31 - 1;

export const SEEDS_USAGE = `
npm run simulate -- --seeds N [options]

  --seeds N           tries the promises with N random stories, of ${SEED_STRATEGIES.map(({ name }) => name).join(', ')} by turns
  --from N            the first seed; the same seed gives the same story (1)
  --strategy S[,S]    some of these strategies (all)
`;

/** Which seeds to try. */
export interface SeedOptions {
  readonly seeds: number;
  readonly from: number;
  readonly strategies: readonly SeedStrategy[];
}

/** @throws {UsageError} for an unknown option or a wrong value */
export function readSeedOptions(args: readonly string[]): SeedOptions {
  const given = valuesOf(OPTIONS, args);
  const names = SEED_STRATEGIES.map(({ name }) => name);
  const chosen = given.strategy?.split(',') ?? names;
  if (!chosen.every((name) => names.includes(name))) {
    throw new UsageError(
      `--strategy is "${given.strategy}", expected some of ${names.join(', ')}, separated by commas`,
    );
  }
  return {
    seeds: wholeOf('seeds', given.seeds, 1),
    from: wholeOf('from', given.from, 0),
    strategies: SEED_STRATEGIES.filter(({ name }) => chosen.includes(name)),
  };
}

/** Tries seeds, and prints each story that breaks a promise. Returns how many did. */
export async function trySeeds(
  { seeds, from, strategies }: SeedOptions,
  print: (text: string) => void,
): Promise<number> {
  let found = 0;
  const since = Date.now();
  for (let seed = from; seed < from + seeds; seed++) {
    const finding = await trySeed(strategies[seed % strategies.length]!, seed);
    if (finding === undefined) continue;
    found++;
    print(
      `${finding.strategy} breaks a promise with seed ${seed}. Keep it in simulate/seeds/kept:\n${JSON.stringify(finding)}\n`,
    );
  }
  const each = ((Date.now() - since) / seeds).toFixed(0);
  const names = strategies.map(({ name }) => name).join(', ');
  print(`${seeds} seeds from ${from}, of ${names}: ${found} broke a promise. ${each} ms a seed`);
  return found;
}

function wholeOf(name: string, text: string | undefined, least: number): number {
  if (text !== undefined && /^\d+$/.test(text) && Number(text) >= least && Number(text) <= MOST) return Number(text);
  throw new UsageError(`--${name} is ${JSON.stringify(text)}, expected a whole number from ${least} to ${MOST}`);
}
