import type { PodsDescription, PodsTick } from './pods/pods-tick.js';
import type { Dot, Sample, SurgeDescription, SurgeTick, WorldId } from './stage/surge-tick.js';

/** The events that the page receives. The file has types only, so that TypeScript can check the page's modules against them. */
export interface LiveEvents {
  /** The first event of every connection. */
  readonly room: Room;
  readonly tick: Tick;
}

/** Facts that do not change while the process runs. */
export interface Room {
  /** `watch`: the process starts no worlds and no pods, and rejects every switch. */
  readonly mode: 'on' | 'watch';
  /** Null with the mode `watch`. */
  readonly surge: SurgeDescription | null;
  /** Null with the mode `watch`. */
  readonly pods: PodsDescription | null;
  /** Of this run or the last one, from its begin, so that a reload does not begin with empty charts. Null without one. */
  readonly history: Readonly<Record<WorldId, WorldHistory>> | null;
}

export interface WorldHistory {
  /** Oldest first. */
  readonly samples: readonly Sample[];
  readonly dots: readonly Dot[];
}

export interface Tick {
  /** Null where `Room.surge` is. */
  readonly surge: SurgeTick | null;
  /** Null where `Room.pods` is. */
  readonly pods: PodsTick | null;
}
