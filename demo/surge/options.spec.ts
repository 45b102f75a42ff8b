import { describe, expect, it } from '@jest/globals';
import { UsageError } from '../../tools/command-line.js';
import { readOptions } from './options.js';

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

  it('reads values after a space and after =', () => {
    expect(
      readOptions(['--pods', '12', '--seconds=180', '--store', 'memory', '--json', '--report', 'surge.html']),
    ).toMatchObject({ pods: 12, seconds: 180, store: 'memory', json: true, report: 'surge.html' });
  });

  it.each([
    [['--podz', '3'], "Unknown option '--podz'"],
    [['--pods', '0'], '--pods is "0", expected a whole number from 1 to 64'],
    [['--pods='], '--pods is empty: leave it out, or give it a value'],
    [['--seconds', '1.5'], '--seconds is "1.5", expected a whole number from 1 to 3600'],
    [['--store', 'disk'], '--store is "disk", expected "redis" or "memory"'],
    [['--quick', '--seconds', '5'], '--quick and --seconds are both given: use only one of them'],
  ])('rejects %j', (args, message) => {
    expect(() => readOptions(args)).toThrow(UsageError);
    expect(() => readOptions(args)).toThrow(message);
  });
});
