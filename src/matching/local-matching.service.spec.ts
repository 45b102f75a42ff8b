import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { ConfigService } from '@nestjs/config';
import type { Configuration } from '../config/configuration.js';
import { readConfiguration } from '../config/read-configuration.js';
import { CENTER } from '../geo/position.js';
import { advanceUntil } from '../../test/support/advance-until.js';
import { LocalMatchingService } from './local-matching.service.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const clock = { now: () => Date.now() };

function matchingWith(env: Record<string, string>): LocalMatchingService {
  return LocalMatchingService.create(new ConfigService<Configuration, true>(readConfiguration(env)), clock);
}

const ALONE = { DRIVERS_SEEDED: '1', MATCHING_WORKERS: '1', MATCHING_SERVICE_MS: '100' };

it('goes on for a rider who has left, by default', async () => {
  const matching = matchingWith(ALONE);
  const rider = new AbortController();
  const asked = [matching.match(CENTER, rider.signal), matching.match(CENTER, rider.signal)];
  rider.abort('gone');
  await jest.advanceTimersByTimeAsync(150);
  // The second one still has its place in the queue, and then a worker.
  expect((await matching.statistics()).busy).toBe(1);
  expect(await advanceUntil(asked[0]!)).toMatchObject({ driverId: 'driver-0001' });
  expect(await advanceUntil(asked[1]!)).toBeUndefined();
});

it('takes no driver for a rider who has left with MATCHING_CANCEL', async () => {
  const matching = matchingWith({ ...ALONE, MATCHING_CANCEL: 'on' });
  const rider = new AbortController();
  const match = matching.match(CENTER, rider.signal).catch((error: unknown) => error);
  await jest.advanceTimersByTimeAsync(50);
  rider.abort('gone');
  const next = matching.match(CENTER);
  expect(await advanceUntil(match)).toBe('gone');
  expect(await advanceUntil(next)).toMatchObject({ driverId: 'driver-0001' });
});
