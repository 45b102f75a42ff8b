import { replayElse } from './else.js';
import { replayLeases } from './leases.js';
import { replayPrefetch } from './prefetch.js';
import type { Place, Replay } from './replay.js';
import { replayReservations } from './reservations.js';
import { replaySlots } from './slots.js';

/** How the traces of each model are replayed. */
export const REPLAYS: Readonly<Record<string, (place: Place) => Replay | Promise<Replay>>> = {
  leases: replayLeases,
  prefetch: replayPrefetch,
  reservations: replayReservations,
  slots: replaySlots,
  else: replayElse,
};
