import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { histories } from '../../../../../../test/support/property-runs.js';
import { withHelp } from '../../../util/error-codes.js';
import { ClockSkew } from './clock-skew.js';

const START = 1_700_000_000_000;

/** Two clocks, a network and a log. */
class World {
  readonly lines: string[] = [];
  /** Milliseconds that this process's clock is ahead. */
  aheadMs = 0;
  toRedisMs = 0;
  fromRedisMs = 0;
  error: Error | undefined;
  private now = START;
  readonly skew: ClockSkew;

  constructor(maxSkewMs: number) {
    this.skew = new ClockSkew({
      maxSkewMs,
      time: async () => {
        this.now += this.toRedisMs;
        const reply = [String(Math.floor(this.now / 1000)), String(Math.floor((this.now % 1000) * 1000))];
        this.now += this.fromRedisMs;
        if (this.error !== undefined) throw this.error;
        return reply;
      },
      logger: {
        warn: (line: string) => this.lines.push(`warn ${line}`),
        log: (line: string) => this.lines.push(`log ${line}`),
      },
      wallMs: () => Math.floor(this.now + this.aheadMs),
      monotonicMs: () => this.now,
    });
  }

  async at(aheadMs: number): Promise<string[]> {
    this.aheadMs = aheadMs;
    await this.skew.check();
    return this.lines.splice(0);
  }
}

describe("the comparison with Redis's clock", () => {
  it('warns once above half of maxSkew, once above all of it, and reports the end', async () => {
    const world = new World(1000);
    expect(await world.at(0)).toEqual([]);
    expect(await world.at(450)).toEqual([]);
    expect(await world.at(700)).toEqual([
      withHelp(
        "warn The clock of this process is 700 ms ahead of Redis's clock, more than half of maxSkew (1000 ms): two processes may differ by more than maxSkew",
        'FG_CLOCKS_DIFFER',
      ),
    ]);
    expect(await world.at(720)).toEqual([]);
    expect(await world.at(-3_600_000)).toEqual([
      withHelp(
        "warn The clock of this process is 3600000 ms behind Redis's clock, more than maxSkew (1000 ms): limits may admit too much",
        'FG_CLOCKS_DIFFER',
      ),
    ]);
    expect(await world.at(-3_600_000)).toEqual([]);
    expect(await world.at(2)).toEqual([
      "log The clock of this process is 2 ms ahead of Redis's clock: within half of maxSkew (1000 ms) again",
    ]);
  });

  it('takes a slow answer neither for skew nor for its end', async () => {
    const world = new World(1000);
    world.fromRedisMs = 3_000;
    expect(await world.at(0)).toEqual([]);
    world.fromRedisMs = 0;
    expect(await world.at(900)).toHaveLength(1);
    world.toRedisMs = 3_000;
    expect(await world.at(0)).toEqual([]);
    world.toRedisMs = 0;
    expect(await world.at(0)).toEqual([expect.stringMatching(/^log /)]);
  });

  it('never warns within half of maxSkew, and always warns of a clear skew, whatever the network does', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 10_000 }),
        fc.integer({ min: -20_000, max: 20_000 }),
        fc.integer({ min: 0, max: 5_000 }),
        fc.integer({ min: 0, max: 5_000 }),
        async (maxSkewMs, aheadMs, toRedisMs, fromRedisMs) => {
          const world = new World(maxSkewMs);
          Object.assign(world, { toRedisMs, fromRedisMs });
          const warned = (await world.at(aheadMs)).length > 0;
          const skew = Math.abs(aheadMs);
          const clear = skew > maxSkewMs / 2 + toRedisMs + fromRedisMs + 4;
          expect([warned && skew <= maxSkewMs / 2, !warned && clear]).toEqual([false, false]);
        },
      ),
      histories(),
    );
  });

  it('warns once of a missing right, and never of an unavailable Redis', async () => {
    const world = new World(1000);
    world.error = new Error('Connection is closed.');
    expect(await world.at(9_000)).toEqual([]);
    world.error = new Error("NOPERM this user has no permissions to run the 'time' command");
    expect(await world.at(9_000)).toEqual([expect.stringContaining('needs the right +time: NOPERM')]);
    expect(await world.at(9_000)).toEqual([]);
  });
});
