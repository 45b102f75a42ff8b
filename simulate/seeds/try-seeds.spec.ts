import { describe, expect, it } from '@jest/globals';
import { UsageError } from '../../tools/command-line.js';
import { readSeedOptions, SEEDS_USAGE, trySeeds } from './try-seeds.js';

describe('the command line of seeds', () => {
  it('reads which seeds to try', () => {
    const all = readSeedOptions(['--seeds', '12']);
    expect(all).toMatchObject({ seeds: 12, from: 1 });
    for (const { name } of all.strategies) expect(SEEDS_USAGE).toContain(name);
    const { from, strategies } = readSeedOptions(['--seeds=1', '--from', '7', '--strategy', 'leases,settle']);
    expect([from, ...strategies.map(({ name }) => name)]).toEqual([7, 'settle', 'leases']);
  });

  it.each([
    ['--seeds none', '--seeds is "none", expected a whole number from 1 to 2147483647'],
    ['--seeds 0', '--seeds is "0", expected a whole number from 1 to 2147483647'],
    ['--seeds 1 --from x', '--from is "x", expected a whole number from 0 to 2147483647'],
    ['--seeds 1 --strategy redis', /^--strategy is "redis", expected some of buckets, .*, separated by commas$/],
    ['--seeds 1 --pods 3', "Unknown option '--pods'"],
  ])('says what is wrong with %s', (args, message) => {
    const read = (): unknown => readSeedOptions(args.split(' '));
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
  });

  it('tells how many seeds broke a promise', async () => {
    const printed: string[] = [];
    const found = await trySeeds(readSeedOptions(['--seeds', '2', '--strategy', 'else']), (text) => printed.push(text));
    expect(found).toBe(0);
    expect(printed.join()).toMatch(/^2 seeds from 1, of else: 0 broke a promise\. \d+ ms a seed$/);
  });
});
