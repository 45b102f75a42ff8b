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
    log.warn('unavailable');
    jest.advanceTimersByTime(1000);
    log.log('available');
    expect(lines).toEqual(['warn unavailable', 'log available']);
  });

  it('logs the last state of a second with the number of changes before it', () => {
    log.warn('unavailable');
    for (let i = 0; i < 20; i++) {
      log.log(`available ${i}`);
      log.warn(`unavailable ${i}`);
    }
    expect(lines).toEqual(['warn unavailable']);
    jest.advanceTimersByTime(1000);
    expect(lines).toEqual(['warn unavailable', 'warn unavailable 19 (39 more changes since the last line)']);
    jest.advanceTimersByTime(10_000);
    expect(lines).toHaveLength(2);
  });

  it('writes at most one line a second through a storm, and never loses the last state', () => {
    for (let ms = 0; ms < 10_000; ms += 10) {
      log.warn('unavailable');
      log.log(`available at ${ms}`);
      jest.advanceTimersByTime(10);
    }
    jest.advanceTimersByTime(1000);
    expect(lines.length).toBeLessThanOrEqual(12);
    expect(lines.at(-1)).toContain('available at 9990');
  });

  it('writes on close the line that is still due', () => {
    log.warn('unavailable');
    log.log('available');
    log.close();
    expect(lines).toEqual(['warn unavailable', 'log available']);
    log.close();
    expect(lines).toHaveLength(2);
  });
});
