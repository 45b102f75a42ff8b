import { expect, it } from '@jest/globals';
import { adapterUrl, load } from '../../lab/trial/contestants.js';
import type { PromiseName } from '../../lab/trial/promises/titles.js';
import { tryOut } from '../../lab/trial/trial.js';

it('breaks a limiter that gets its count and sets it, with a history of two requests', async () => {
  const control = await load(adapterUrl('get-then-set'));
  const { verdicts } = await tryOut(control, ['limit', 'shared', 'interval', 'huge-cost', 'several']);
  const of = (name: PromiseName) => verdicts.find(({ promise }) => promise === name);
  for (const name of ['limit', 'shared'] as const) {
    expect(of(name)).toMatchObject({ verdict: 'broken', why: '4 requests at once pass a limit of 1' });
    expect(of(name)!.history!.map(({ answer }) => answer)).toEqual(['allowed', 'allowed']);
  }
  // It offers none of these. The first is its definition, the second holds, the third it has not got.
  expect(of('interval')).toMatchObject({ verdict: 'not offered', why: expect.stringContaining('by definition') });
  expect(of('huge-cost')).toEqual({ promise: 'huge-cost', verdict: 'not offered', seen: 'held' });
  expect(of('several')).toEqual({ promise: 'several', verdict: 'not offered' });
}, 60_000);
