import type { ChargeKeeper } from '../../charges/charge-keeper.js';
import type { Decider } from '../../charges/decider.js';
import type { Timer } from '../../stores/timer.js';
import type { StoreTraits } from '../../stores/traits.js';
import { PrefetchLayer, type PrefetchSettings } from './prefetch.js';

type PrefetchStore = Pick<ChargeKeeper, 'decidePatiently' | 'refund'> & {
  readonly traits: StoreTraits;
  readonly timer: Timer;
};

/** The layer over a store that supports it. */
function layer(
  inner: Decider,
  store: PrefetchStore,
  { monotonicMs }: Pick<PrefetchSettings, 'monotonicMs'>,
): PrefetchLayer | undefined {
  if (!store.traits.prefetch) return undefined;
  const ask: PrefetchSettings['ask'] = (charges) => store.decidePatiently(charges);
  const refund: PrefetchSettings['refund'] = (receipts) => store.refund(receipts);
  return new PrefetchLayer({ inner, ask, refund, monotonicMs, timer: store.timer });
}

export const prefetch = { layer };
