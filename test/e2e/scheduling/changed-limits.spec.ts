import { describe, expect, it } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import { ADA, BOB, open, type Opened, pass, turns } from './support/scheduled-calls.js';

const HOURLY = { algorithm: 'fixed-window', limit: 1, window: '1h', by: 'user' } as const satisfies Policy;
const POLICIES = {
  hourly: HOURLY,
} satisfies Record<string, Policy>;

/** Uses the limit up, and lets a call of each of two users wait for it. */
async function waiting(policy: string, taken: readonly string[]): Promise<Opened> {
  const opened = await open({ policies: POLICIES });
  for (const name of taken) {
    for (const who of [ADA, BOB]) expect((await opened.limiter.consume(name, who)).allowed).toBe(true);
  }
  void opened.call(policy, 'ada', { maxWait: 7_200_000 }, ADA);
  void opened.call(policy, 'bob', { maxWait: 7_200_000 }, BOB);
  await pass(opened.clock, 1_000);
  expect(opened.ran).toEqual([]);
  return opened;
}

describe('a call that waits for an hour', () => {
  const [policy, taken, changed] = ['hourly', ['hourly'], 'hourly'] as const;
  const target = { policy: changed, identity: ADA };

  it.each([
    ['raises', { limit: 2 }],
    ['lifts', { exempt: true }],
  ] as const)(`goes on at once when an operator %s ${changed}, and no other call is asked for`, async (_, change) => {
    await using opened = await waiting(policy, taken);
    const { overrides, ran, store, limiter } = opened;
    const { questions } = store;
    await overrides.set(target, change);
    await turns();
    expect(ran).toEqual(['ada@1']);
    expect(store.questions - questions).toBeLessThanOrEqual(2);
    // Calls that come later find no gate that is shut.
    await overrides.set({ policy: changed, identity: BOB }, { exempt: true });
    expect(await limiter.schedule(policy, BOB, () => 'new', { maxWait: 1_000 })).toBe('new');
  });

  it(`goes on at once when an operator raises ${changed} for everyone`, async () => {
    await using opened = await waiting(policy, taken);
    await opened.overrides.set({ policy: changed, identity: 'everyone' }, { limit: 2 });
    await turns();
    expect(opened.ran.map((one) => one.slice(0, 3)).toSorted()).toEqual(['ada', 'bob']);
  });

  it(`goes on at once when ${changed} is reset`, async () => {
    await using opened = await waiting(policy, taken);
    await opened.limiter.reset(changed, ADA);
    await turns();
    expect(opened.ran).toEqual(['ada@1']);
  });
});
