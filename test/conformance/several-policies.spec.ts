import { expect, it } from '@jest/globals';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../support/algorithm-of.js';
import { describeForEveryStore, pass, reject, SECOND } from './conformance.js';

const perSecond = algorithmOf({ algorithm: 'fixed-window', limit: 3, window: '1s' });
const perMinute = algorithmOf({ algorithm: 'fixed-window', limit: 5, window: '1m' });

describeForEveryStore('several policies on a request', (open) => {
  it('charges all policies or none, and returns the verdict of each', async () => {
    const timeline = open();
    const both = async (at: number) => timeline.ask(at, [perSecond, 1, 'second'], [perMinute, 1, 'minute']);
    for (const [i, left] of [2, 1, 0].entries()) {
      const verdict = await both(0);
      expect(verdict).toMatchObject({ allowed: true, charges: [pass(left, SECOND), pass(4 - i, 60 * SECOND)] });
    }
    const rejectedBySecond = { allowed: false, charges: [reject(0, SECOND, SECOND), pass(2, 60 * SECOND)] };
    for (let i = 0; i < 5; i++) expect(await both(0)).toMatchObject(rejectedBySecond);
    expect(await both(SECOND)).toMatchObject({ allowed: true, charges: [pass(2, SECOND), pass(1, 59 * SECOND)] });
    expect(await both(SECOND)).toMatchObject({ allowed: true, charges: [pass(1, SECOND), pass(0, 59 * SECOND)] });
    const rejectedByMinute = { allowed: false, charges: [pass(1, SECOND), reject(0, 59 * SECOND, 59 * SECOND)] };
    for (let i = 0; i < 5; i++) expect(await both(SECOND)).toMatchObject(rejectedByMinute);
  });

  it.each(ALL_ALGORITHMS)('%s: keeps its state if another policy rejects the request', async (name) => {
    const algorithm = algorithmOf(SMALL_POLICIES[name]);
    const timeline = open();
    await timeline.ask(0, [algorithm, 2, 'kept']);
    await timeline.ask(0, [perSecond, 3, 'full']);
    const before = await timeline.charge(10, algorithm, 0, 'kept');
    for (const order of ['kept first', 'full first']) {
      const charges = [
        [algorithm, 1, 'kept'],
        [perSecond, 1, 'full'],
      ] as [typeof algorithm, number, string][];
      if (order === 'full first') charges.reverse();
      expect(await timeline.ask(10, ...charges)).toMatchObject({ allowed: false });
    }
    expect(await timeline.charge(10, algorithm, 0, 'kept')).toEqual(before);
  });

  it('can peek at one policy and charge another', async () => {
    const timeline = open();
    for (const left of [4, 3, 2]) {
      const verdict = await timeline.ask(0, [perSecond, 0, 'second'], [perMinute, 1, 'minute']);
      expect(verdict).toMatchObject({ allowed: true, charges: [pass(3, SECOND), pass(left, 60 * SECOND)] });
    }
    await timeline.ask(0, [perSecond, 3, 'second']);
    const verdict = await timeline.ask(0, [perSecond, 0, 'second'], [perMinute, 1, 'minute']);
    expect(verdict).toMatchObject({ allowed: false, charges: [reject(0, SECOND, SECOND), pass(2, 60 * SECOND)] });
  });

  it('charges each policy its own cost', async () => {
    const timeline = open();
    const verdict = await timeline.ask(0, [perSecond, 3, 'second'], [perMinute, 5, 'minute']);
    expect(verdict).toMatchObject({ allowed: true, charges: [pass(0, SECOND), pass(0, 60 * SECOND)] });
  });

  it('returns the verdict of each policy if both reject', async () => {
    const timeline = open();
    await timeline.ask(0, [perSecond, 3, 'second']);
    await timeline.ask(0, [perMinute, 5, 'minute']);
    const verdict = await timeline.ask(1, [perSecond, 4, 'second'], [perMinute, 1, 'minute']);
    const charges = [reject(0, SECOND - 1, Infinity), reject(0, 60 * SECOND - 1, 60 * SECOND - 1)];
    expect(verdict).toMatchObject({ allowed: false, charges });
  });
});
