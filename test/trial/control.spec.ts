import { expect, it } from '@jest/globals';
import { adapterUrl, load } from '../../lab/trial/contestants.js';
import type { PromiseName } from '../../lab/trial/promises/titles.js';
import { tryOut } from '../../lab/trial/trial.js';

it('breaks a limiter that gets its count and sets it, with a history of a few requests', async () => {
  const control = await load(adapterUrl('get-then-set'));
  const { verdicts } = await tryOut(control, ['limit', 'shared', 'interval', 'huge-cost', 'several']);
  const of = (name: PromiseName) => verdicts.find(({ promise }) => promise === name);
  // Four processes with one request each break it where they happen to overlap. A process that asks more than once sends all its
  // gets before its first set, so the process that sets first admits all that it asked. A third request is needed at a window's end.
  for (const name of ['limit', 'shared'] as const) {
    expect(of(name)).toMatchObject({
      verdict: 'broken',
      why: expect.stringMatching(/^(4|64) requests at once pass a limit of 1$/),
    });
    const answers = of(name)!.history!.map(({ answer }) => answer);
    expect(answers.slice(0, 3)).toEqual(answers.map(() => 'allowed'));
    expect(answers.length).toBeGreaterThan(1);
  }
  // It offers none of these. The first is its definition, the second holds, the third it has not got.
  expect(of('interval')).toMatchObject({ verdict: 'not offered', why: expect.stringContaining('by definition') });
  expect(of('huge-cost')).toEqual({ promise: 'huge-cost', verdict: 'not offered', seen: 'held' });
  expect(of('several')).toEqual({ promise: 'several', verdict: 'not offered' });
});
