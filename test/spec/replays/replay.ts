import { isDeepStrictEqual } from 'node:util';
import type { Trace } from '../../../lab/spec/traces.js';
import type {
  ChargeReceipt,
  ChargeSettlement,
  Charge,
  Clock,
  SettledCharge,
  Verdict,
} from '../../../libs/floodgate/src/stores/store.js';
import type { ProgramRunner } from '../../../libs/floodgate/src/stores/redis/clients/client.js';

/** A store that a trace is replayed on. */
export interface ReplayedStore {
  consume(charges: readonly Charge[]): Verdict | Promise<Verdict>;
  refund(receipts: readonly ChargeReceipt[]): void | Promise<void>;
  settle(
    settlements: readonly ChargeSettlement[],
  ): readonly (SettledCharge | undefined)[] | Promise<readonly (SettledCharge | undefined)[]>;
}

/** Where a trace is replayed: a store, and the Redis whose log of reservations its processes share. */
export interface Place {
  /** @param clock of the trace */
  readonly open: (clock: Clock) => ReplayedStore;
  readonly client: ProgramRunner;
}

/** A step: what is done, by whom, what becomes of it, and numbers. */
export interface Step {
  readonly does: string;
  readonly who: number;
  readonly outcome: string;
  readonly numbers: readonly number[];
}

/** A run of the code that a trace goes through. */
export interface Replay {
  /** Does a step. Returns the step as the code has decided it, in the words of the trace. */
  step(step: Step): Promise<Step>;
  end?(): Promise<void>;
}

/** Replays one trace. Returns the first step that the code decides otherwise than the model, and those before it; undefined if there is none. */
export async function differenceIn(trace: Trace, begin: () => Replay | Promise<Replay>): Promise<string | undefined> {
  const replay = await begin();
  try {
    for (const [i, text] of trace.entries()) {
      const step = read(text);
      const done = await replay.step(step).catch((error: unknown) => ({ error }));
      if (isDeepStrictEqual(done, step)) continue;
      return `${trace.slice(0, i + 1).join('\n')}\nThe code decides: ${JSON.stringify(done, reason)}`;
    }
    return undefined;
  } finally {
    await replay.end?.();
  }
}

const reason = (_: string, value: unknown): unknown => (value instanceof Error ? String(value.stack) : value);

function read(text: string): Step {
  const [does, who, ...rest] = text.split(' ');
  const outcome = /^\d+$/.test(rest[0]!) ? '' : rest.shift()!;
  return { does: does!, who: Number(who), outcome, numbers: rest.map(Number) };
}

let keys = 0;
/** A key that no other trace has. */
export function newKey(part: string): string {
  return `spec:{${part}-${process.pid}-${keys++}}`;
}

/** 2024-06-25T22:40:00Z: a whole number of any tick. */
export const ORIGIN = 1_719_355_200_000_000;
