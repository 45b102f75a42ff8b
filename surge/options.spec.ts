import { describe, expect, it } from '@jest/globals';
import { readOptions, UsageError } from './options.js';

describe('readOptions', () => {
  it('has a default for every option', () => {
    expect(readOptions([], 2)).toEqual({
      pods: 4,
      riders: 2000,
      seconds: 60,
      scale: 3,
      demand: 150,
      seed: 1,
      queue: 250,
      patienceMs: 3000,
      cancel: false,
      newestFirst: false,
      store: 'redis',
      details: false,
      json: false,
      report: undefined,
    });
  });

  it('runs the full city on four cores and more', () => {
    expect(readOptions([], 4)).toMatchObject({ scale: 1, demand: 450, queue: 750 });
    expect(readOptions(['--scale', '10'], 4)).toMatchObject({ scale: 10, demand: 45, queue: 75 });
  });

  it('changes what matching does with its queue', () => {
    expect(readOptions(['--queue', '0', '--cancel', '--newest-first'], 4)).toMatchObject({
      queue: 0,
      cancel: true,
      newestFirst: true,
    });
  });

  it('reads values after a space and after =', () => {
    expect(
      readOptions(['--pods', '12', '--seconds=180', '--store', 'memory', '--json', '--report', 'surge.html']),
    ).toMatchObject({ pods: 12, seconds: 180, store: 'memory', json: true, report: 'surge.html' });
  });

  it('takes a few seconds for each case with --quick', () => {
    expect(readOptions(['--quick'])!.seconds).toBe(10);
  });

  it('ignores other options with --help', () => {
    expect(readOptions(['--help', '--pods', 'x'])).toBeUndefined();
  });

  it.each([
    [['--podz', '3'], "Unknown option '--podz'"],
    [['now'], "Unexpected argument 'now'"],
    [['--pods'], "Option '--pods <value>' argument missing"],
    [['--pods', '0'], '--pods is "0", expected a whole number from 1 to 64'],
    [['--pods', 'many'], '--pods is "many", expected a whole number from 1 to 64'],
    [['--pods='], '--pods is empty: leave it out, or give it a value'],
    [['--seconds', '1.5'], '--seconds is "1.5", expected a whole number from 1 to 3600'],
    [['--riders', '-1'], "Option '--riders' argument is ambiguous"],
    [['--riders=-1'], '--riders is "-1", expected a whole number from 1 to 100000'],
    [['--demand', '0'], '--demand is "0", expected a whole number from 1 to 100000'],
    [['--store', 'disk'], '--store is "disk", expected "redis" or "memory"'],
    [['--json=yes'], "Option '--json' does not take an argument"],
    [['--report='], '--report is empty: leave it out, or give it a value'],
    [['--quick', '--seconds', '5'], '--quick and --seconds are both given: use only one of them'],
  ])('rejects %j', (args, message) => {
    expect(() => readOptions(args)).toThrow(UsageError);
    expect(() => readOptions(args)).toThrow(message);
  });
});
