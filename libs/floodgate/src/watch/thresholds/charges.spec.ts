import { expect, it } from '@jest/globals';
import { charge, gone, opened, OwnStore, PLAIN } from '../../../../../test/support/own-store.js';
import type { Policy } from '../../policy/policy.js';
import type { ThresholdEvent } from './threshold-event.js';

it('levels are told of the charges that the store or the process has made, before the end', async () => {
  const told: string[] = [];
  const onThreshold = ({ level, source }: ThresholdEvent): void => void told.push(`${level} ${source}`);
  const store = new OwnStore();
  const { engine } = opened(store, { onThreshold }, 10_000);
  const policy: Policy = { ...PLAIN, name: 'watched', thresholds: [0.5, 1] };
  for (let i = 0; i < 5; i++) await engine.decide([charge(policy)]);
  store.answer = gone;
  for (let i = 0; i < 5; i++) await engine.decide([charge(policy, 1, 'user:bob')]);
  await engine.close();
  expect(told).toEqual(['0.5 store', '1 store', '0.5 local', '1 local']);
});
