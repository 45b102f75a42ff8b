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

  it('writes on close the line that is still due', () => {
    log.warn('unavailable');
    log.log('available');
    log.close();
    expect(lines).toEqual(['warn unavailable', 'log available']);
    log.close();
    expect(lines).toHaveLength(2);
  });
});
