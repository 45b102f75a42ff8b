import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { StateLog } from './state-log.js';

let lines: string[];
let log: StateLog;

beforeEach(() => {
  jest.useFakeTimers();
  lines = [];
  log = new StateLog({ warn: (line) => lines.push(`warn ${line}`), log: (line) => lines.push(`log ${line}`) });
});

afterEach(() => {
  jest.useRealTimers();
});

describe('StateLog', () => {
  it('logs the first change, and changes a second apart, at once', () => {
    log.warn('away');
    jest.advanceTimersByTime(1000);
    log.log('back');
    expect(lines).toEqual(['warn away', 'log back']);
  });

  it('logs the last state of a second with the number of changes before it', () => {
    log.warn('away');
    for (let i = 0; i < 20; i++) {
      log.log(`back ${i}`);
      log.warn(`away ${i}`);
    }
    expect(lines).toEqual(['warn away']);
    jest.advanceTimersByTime(1000);
    expect(lines).toEqual(['warn away', 'warn away 19 (39 more changes since the last line)']);
    jest.advanceTimersByTime(10_000);
    expect(lines).toHaveLength(2);
  });

  it('writes at most one line a second through a storm, and never loses the last state', () => {
    for (let ms = 0; ms < 10_000; ms += 10) {
      log.warn('away');
      log.log(`back at ${ms}`);
      jest.advanceTimersByTime(10);
    }
    jest.advanceTimersByTime(1000);
    expect(lines.length).toBeLessThanOrEqual(12);
    expect(lines.at(-1)).toContain('back at 9990');
  });

  it('writes on close the line that is still due', () => {
    log.warn('away');
    log.log('back');
    log.close();
    expect(lines).toEqual(['warn away', 'log back']);
    log.close();
    expect(lines).toHaveLength(2);
  });
});
