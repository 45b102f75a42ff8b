import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { isId } from '../../../src/http/validation.js';
import { RIDES } from '../../../src/limits/policies.js';
import { type RiderRequest } from '../../riders/index.js';
import { FOLLOWED, FollowedRider } from './followed-rider.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

interface Sent {
  readonly atMs: number;
  readonly request: RiderRequest;
}

async function run(seed: number): Promise<{ rider: FollowedRider; sent: Sent[] }> {
  const since = Date.now();
  const sent: Sent[] = [];
  const rider = new FollowedRider(seed, async (request) => {
    sent.push({ atMs: Date.now() - since, request });
    return { status: 200 };
  });
  rider.start();
  await jest.advanceTimersByTimeAsync(60_000);
  rider.stop();
  return { rider, sent };
}

it('sends bursts that a bucket shows, and that it has room for', async () => {
  const { sent } = await run(1);
  expect(isId(FOLLOWED)).toBe(true);
  expect(sent.every(({ request: { riderId, route } }) => riderId === FOLLOWED && route === 'rides')).toBe(true);
  const begins = sent.filter(({ atMs }, i) => i === 0 || atMs - sent[i - 1]!.atMs > 1000);
  expect(begins.length).toBeGreaterThanOrEqual(12);
  begins.forEach(({ atMs }, i) => {
    const count = sent.filter((one) => one.atMs >= atMs && one.atMs < atMs + 1000).length;
    expect(count).toBeGreaterThanOrEqual(7);
    expect(count).toBeLessThan(RIDES.capacity);
    const nextMs = begins[i + 1]?.atMs ?? Infinity;
    expect((count / RIDES.refill) * 1000).toBeLessThan(nextMs - atMs);
  });
});

it('sends the same for the same seed, and nothing after its stop', async () => {
  const { sent } = await run(7);
  expect((await run(7)).sent).toEqual(sent);
  expect((await run(8)).sent).not.toEqual(sent);
  expect(jest.getTimerCount()).toBe(0);
});
