import { keyOf } from '../../policy/key.js';
import type { Timing } from '../../stores/timer.js';
import type { StoreTraits } from '../../stores/traits.js';
import type { Logger } from '../../util/logger.js';
import type { Within } from './expiring-charges.js';
import { ExpiringReservations, type ExpirySettings } from './expiring-reservations.js';

interface SettlingStore extends Pick<ExpirySettings, 'settle'> {
  readonly traits: StoreTraits;
  readonly deadlines: { readonly within: Within };
}

function settling(
  engine: Pick<ExpirySettings, 'decide'>,
  store: SettlingStore,
  { keyPrefix }: { readonly keyPrefix: string },
  timing: Timing,
  logger: Pick<Logger, 'warn'>,
): ExpiringReservations {
  const { traits, deadlines } = store;
  return new ExpiringReservations(
    {
      decide: (charges) => engine.decide(charges),
      settle: (settlements) => store.settle(settlements),
      within: (answer) => deadlines.within(answer),
      traits,
      log: traits.reservationLog?.((part) => keyOf(keyPrefix, `reservations-${part}`, '')),
      ...timing,
    },
    logger,
  );
}

export const expiry = { settling };
