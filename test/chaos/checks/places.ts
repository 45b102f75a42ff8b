import { setTimeout as delay } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { HELD_MS, PLACES, UNCONFIRMED_MS } from '../policies.js';
import type { ChaosRedis } from '../run/redis.js';
import type { Run, Verdict } from './check.js';

/** How long a place may stay taken after the last one was asked for. */
const LONGEST_MS = HELD_MS + UNCONFIRMED_MS;
const CONNECTED_MS = 20_000;
/** The fewest questions a minute: with fewer, the check proves nothing. */
const PER_MINUTE = 300;

/** Counts the places that stay taken after all processes have ended. */
export async function placesLeftIn({ port }: Pick<ChaosRedis, 'port'>): Promise<number> {
  await delay(LONGEST_MS);
  const redis = { host: '127.0.0.1', port };
  const module = RateLimitModule.forRoot({ redis, policies: { places: PLACES }, deadline: '10s' });
  const app = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
  try {
    const limiter = app.get(RateLimiter);
    let left = await limiter.peek(PLACES.name);
    await until('Redis decides', CONNECTED_MS, async () => {
      left = await limiter.peek(PLACES.name);
      return left.decidedBy === 'store';
    });
    return PLACES.limit - left.policies[0]!.remaining;
  } finally {
    await app.close();
  }
}

/**
 * Checks that no place stays taken, whatever became of answers and releases. A clock of Redis that steps back makes a lease last longer
 * that nobody holds any more.
 */
export function checkPlaces({ histories, turns, placesLeft, began, ended }: Run): Verdict {
  const asked = histories.flatMap(({ places }) => places.map(({ at }) => at));
  const back = turns.filter(({ aheadMs }, i) => aheadMs < (turns[i - 1]?.aheadMs ?? 0));
  const lasting = asked.filter((at) => back.some(({ from, to }) => at >= from - LONGEST_MS && at <= to)).length;
  const texts = [
    placesLeft > lasting && `${placesLeft} places stay taken, and ${lasting} may`,
    asked.length < (PER_MINUTE * (ended - began)) / 60_000 && `only ${asked.length} places were asked for`,
  ];
  return {
    name: 'places',
    failures: texts.flatMap((text) => (text === false ? [] : { at: ended, text })),
    seen: `${asked.length} places were asked for, ${placesLeft} stay taken`,
  };
}
