import { describe, expect, it } from '@jest/globals';
import { UsageError } from '../tools/command-line.js';
import { readOptions, USAGE } from './options.js';

describe('the command line', () => {
  it('asks for everything by default', () => {
    const options = readOptions([]);
    expect(options.pods).toEqual([10, 100, 1000]);
    expect(options.regions).toEqual([1, 2]);
    expect(options.scenarios).toEqual(['hot', 'users', 'concert', 'fleet']);
    expect(options.strategies.length).toBeGreaterThan(5);
    expect(options.settings(10, 1)).toMatchObject({ pods: 10, regions: 1, deadlineMs: 50, seed: 1 });
    expect(options.settings(10, 2)).toMatchObject({ deadlineMs: 250, homeShare: 0.7 });
  });

  it('prints a usage text with every strategy', () => {
    for (const { name } of readOptions([]).strategies) expect(USAGE).toContain(name);
    expect(USAGE.split('\n').filter((line) => line.length > 100)).toEqual([]);
  });

  it.each([
    ['--pod 3', "Unknown option '--pod'"],
    ['3', "Unexpected argument '3'"],
    ['--pods ten', '--pods is "ten", expected whole numbers from 1 to 5000, separated by commas'],
    ['--pods 0', '--pods is "0", expected whole numbers from 1 to 5000, separated by commas'],
    ['--pods 1 --regions 2', '--pods is 1 with --regions 2, expected a pod for each region'],
    ['--regions 3', '--regions is "3", expected whole numbers from 1 to 2, separated by commas'],
    ['--strategy best', /^--strategy is "best", expected some of redis, .*, separated by commas$/],
    ['--strategy divided --regions 1', '--strategy divided needs --regions 2, got 1'],
    ['--scenario all', '--scenario is "all", expected some of hot, users, concert, fleet, separated by commas'],
    ['--seed -1', /--seed/],
    ['--home-share 100', '--home-share is "100", expected a whole number from 1 to 99'],
    ['--link-ms', /--link-ms/],
  ])('says what is wrong with %s', (args, message) => {
    const read = (): unknown => readOptions(args.split(' '));
    expect(read).toThrow(UsageError);
    expect(read).toThrow(message);
  });
});
