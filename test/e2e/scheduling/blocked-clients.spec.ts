import { describe, expect, it } from '@jest/globals';
import type { Identity, Policy } from 'nestjs-floodgate';
import { ADA, BOB, open, pass } from './support/scheduled-calls.js';

/** Ten seconds after the first rejection that counts. */
const STRICT = { algorithm: 'fixed-window', limit: 2, window: '4s', by: 'user', blockFor: '10s' } as const;
const POLICIES = {
  strict: STRICT,
  escalating: { ...STRICT, blockFor: ['10s', '1m', '1h'] },
  slots: { algorithm: 'concurrency', limit: 1, lease: '30s', by: 'user', blockFor: '10s' },
  settled: { ...STRICT, settle: () => 1 },
  quota: { algorithm: 'fixed-window', limit: 1, window: '4s', by: 'user', else: 'strict' },
} as const satisfies Record<string, Policy>;

const opened = (): ReturnType<typeof open> => open({ policies: POLICIES });

describe('a policy with blockFor', () => {
  it.each(['strict', 'escalating', 'settled'])(
    'does not block an identity for its calls that wait: %s',
    async (name) => {
      await using app = await opened();
      for (const call of ['a', 'b', 'c', 'd', 'e']) void app.call(name, call, {}, ADA);
      await pass(app.clock, 12_000);
      expect(app.ran.map((call) => call[0])).toEqual(['a', 'b', 'c', 'd', 'e']);
      expect(Number(app.ran.at(-1)!.slice(2))).toBeLessThanOrEqual(8);
      expect(await blockOf(app, name)).toBeNull();
    },
  );

  it('makes calls wait for a block that the identity has earned elsewhere, and no longer', async () => {
    await using app = await opened();
    for (let i = 0; i < 3; i++) await app.limiter.consume('strict', ADA);
    expect(await blockOf(app, 'strict')).not.toBeNull();
    await expect(app.call('strict', 'short', { maxWait: 5_000 }, ADA)).rejects.toMatchObject({
      retryAfterMs: 10_000,
    });
    void app.call('strict', 'a', {}, ADA);
    void app.call('strict', 'other', {}, BOB);
    await pass(app.clock, 12_000);
    expect(app.ran).toEqual(['other@0', 'a@10']);
  });

  it('still blocks for the rejections of consume, whoever has asked before', async () => {
    await using app = await opened();
    for (const call of ['a', 'b', 'c']) void app.call('strict', call, {}, ADA);
    await pass(app.clock, 0);
    expect((await app.limiter.consume('strict', ADA)).allowed).toBe(false);
    expect(await blockOf(app, 'strict')).not.toBeNull();
    await pass(app.clock, 12_000);
    expect(app.ran).toEqual(['a@0', 'b@0', 'c@10']);
  });
});

async function blockOf(
  { limiter }: Awaited<ReturnType<typeof open>>,
  policy: string,
  identity: Identity = ADA,
): Promise<unknown> {
  const { policies } = await limiter.explain(policy, identity);
  return policies[0]!.block;
}
