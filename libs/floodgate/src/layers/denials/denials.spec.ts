import { expect, it } from '@jest/globals';
import { charge, opened, OwnStore, RESERVED } from '../../../../../test/support/own-store.js';

it('a settlement makes a rejection uncertain that is kept, as a reset does', async () => {
  const store = new OwnStore();
  const { engine } = opened(store, { denialCache: '10s' });
  const asks = async (): Promise<boolean> => {
    const before = store.inner.asked.length;
    await engine.decision([charge(RESERVED)]);
    return store.inner.asked.length > before;
  };
  const reservation = await engine.reserve([charge(RESERVED, 3)]);
  await reservation.settle(3);
  expect([await asks(), await asks()]).toEqual([true, false]);
  expect(await engine.reset([charge(RESERVED).key])).toBe(1);
  expect(await asks()).toBe(true);
  const another = await engine.reserve([charge(RESERVED, 2)]);
  expect([await asks(), await asks()]).toEqual([true, true]); // the open reservation may be given back
  await another.settle(0);
  expect((await engine.decision([charge(RESERVED)])).allowed).toBe(true);
});
