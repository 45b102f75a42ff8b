import { expect } from '@jest/globals';
import type { Identity, Policy } from 'nestjs-floodgate';
import type { BreakableServer } from './breakable-server.js';
import type { Pod } from './pod.js';
import { until } from './until.js';

const LIMIT_MS = 20_000;
const PLACES: Policy = { name: 'places', algorithm: 'concurrency', limit: 5, lease: '10m' };
const BUDGET: Policy = { name: 'budget', algorithm: 'fixed-window', limit: 1_000, window: '300d' };

/** What servers grant after the deadline, because they stood still, is given back at once, and not when its lease ends. */
export async function expectLateGrantsBack(
  { limiter }: Pod,
  users: readonly string[],
  servers: readonly BreakableServer[],
): Promise<void> {
  const identities = users.map((value): Identity => ({ kind: 'user', value }));
  const left = async (): Promise<unknown[]> => {
    const looks = identities.flatMap((identity) => [PLACES, BUDGET].map(async (one) => limiter.peek(one, identity)));
    return (await Promise.all(looks)).map(({ decidedBy, policies }) => [decidedBy, policies[0]!.remaining]);
  };
  const ask = () =>
    Promise.all(
      identities.flatMap((identity) => [
        ...Array.from({ length: 3 }, async () => limiter.acquire(PLACES, identity)),
        ...Array.from({ length: 3 }, async () => limiter.reserve(BUDGET, identity, { cost: 100 })),
      ]),
    );
  const end = (held: Awaited<ReturnType<typeof ask>>): Promise<unknown> =>
    Promise.all(held.map(async (one) => ('release' in one ? one.release() : one.cancel())));
  const whole = identities.flatMap(() => [
    ['store', 5],
    ['store', 1_000],
  ]);
  const expectWhole = async (): Promise<void> => {
    const isWhole = async (): Promise<boolean> => JSON.stringify(await left()) === JSON.stringify(whole);
    await until('all is given back', LIMIT_MS, isWhole).catch(() => undefined); // the comparison shows what is missing
    expect(await left()).toEqual(whole);
  };

  await end(await ask()); // the servers know the programs
  await expectWhole();
  for (const server of servers) server.stop();
  try {
    const asked = await ask();
    expect([...new Set(asked.map(({ decision }) => decision.decidedBy))]).toEqual(['local']);
    await end(asked);
  } finally {
    for (const server of servers) server.cont();
  }
  await expectWhole();
}
