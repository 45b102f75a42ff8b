import type { ChargeWatch } from '../charges/charge-keeper.js';
import type { Engine } from '../engine/engine.js';
import type { LayeredStore, MakeLayer } from '../engine/layered-store.js';
import { expiry } from '../holds/expiry/room.js';
import type { Settling } from '../holds/settlements/settling.js';
import { denials, type DenialOptions } from '../layers/denials/room.js';
import { prefetch } from '../layers/prefetch/room.js';
import type { ParsedPolicy } from '../policy/parse-policy.js';
import type { Denials } from '../stores/denials.js';
import type { Timing } from '../stores/timer.js';
import type { Logger } from '../util/logger.js';
import { thresholds, type ThresholdOptions } from '../watch/thresholds/room.js';
import type { LimiterOptions } from './limiter-options.js';
import type { LimiterSettings, RunningPart } from './limiter-parts.js';
import type { CheckedLimiterOptions } from './options-table.js';

/** A feature that plugs in: what it fills of these. The limiter knows nothing else about it. */
export interface Room {
  /** Makes what keeps the store's rejections; undefined where nothing does. */
  readonly denials?: (options: CheckedLimiterOptions) => Denials | undefined;
  readonly layer?: MakeLayer;
  /** Undefined where nothing has to be looked at. */
  readonly watch?: (options: LimiterOptions, logger: Logger) => ChargeWatch | undefined;
  readonly settling?: (
    engine: Engine,
    store: LayeredStore,
    settings: LimiterSettings,
    timing: Timing,
    logger: Logger,
  ) => Settling & RunningPart;
  /**
   * Says what has no effect: an option of the limiter, or one of its policies.
   *
   * @param hasChoosers whether functions choose policies that are not among `policies`
   */
  readonly idle?: (
    policies: Iterable<ParsedPolicy>,
    options: LimiterOptions,
    hasChoosers: boolean,
  ) => string | undefined;
}

/** The options of rooms. */
export type RoomOptions = DenialOptions & ThresholdOptions;

export const ROOM_OPTIONS = {
  ...denials.options,
  ...thresholds.options,
};

/** All rooms. Of their layers the first one is the innermost. */
export const ROOMS: readonly Room[] = [denials, prefetch, thresholds, expiry];

/** What keeps the rejections of the store that these options open, or give. */
export function denialsOf(options: CheckedLimiterOptions): Denials | undefined {
  return ROOMS.flatMap((room) => room.denials?.(options) ?? [])[0];
}
