import { describe, expect, it } from '@jest/globals';
import type { Figures } from '../run.js';
import type { Paint } from './colours.js';
import { verdictOf } from './verdict.js';

const plain: Paint = (_, text) => text;

function figures(strategy: string, some: Partial<Figures> = {}): Figures {
  return {
    scenario: 'hot',
    strategy,
    pods: 1000,
    regions: 2,
    arrived: 2000,
    answered: 2000,
    admitted: 990,
    ideal: 1000,
    over: 0,
    callsPerRequest: 1,
    callsPerSecond: 100,
    rowsPerCall: 1,
    redisCpu: 0.1,
    redisCpuSum: 0.1,
    p50Ms: 1,
    p99Ms: 2,
    decidedBy: { store: 1 },
    ...some,
  };
}

const RUNS = [
  figures('alone', { admitted: 1500, over: 99.2 }),
  figures('alone', { admitted: 3000, over: 1999.5, scenario: 'fleet', regions: 1 }),
  figures('redis'),
  figures('redis', { scenario: 'fleet', admitted: 958 }),
];

describe('the verdict of a simulation', () => {
  it('says which strategies broke a limit, where they broke it most, and how much the others admit at least', () => {
    expect(verdictOf(RUNS, plain).replace(/^-+$/m, '---')).toBe(`VERDICT: 1 of 2 strategies broke a limit

strategy                   of ideal, at least  limit
---
one Redis                               0.958  kept
each pod alone, all of it               1.500  broken: 2,000 too many (fleet, 1,000 pods, one region)`);
    expect(verdictOf([figures('redis')], plain)).toMatch(/^VERDICT: no strategy broke a limit\n/);
  });
});
