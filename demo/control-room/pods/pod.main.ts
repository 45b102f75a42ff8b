// One pod in a process of its own. Where the machine has no Redis, all pods in one process, which share a store.
import { answerCalls } from '../../processes/answer-calls.js';
import { type Level, PodApp } from './pod-app.js';
import type { Counting } from './pods-tick.js';
import { SharedMemory } from './shared-memory.js';

export interface OpenCall {
  /** How many pods this process has. */
  readonly pods: number;
  /** How many pods there are in all processes. */
  readonly share: number;
  /** Undefined: the pods of this process share a store in its memory. */
  readonly redisUrl: string | undefined;
}

/** A pod answers on two origins, which differ in where they count. */
export interface PodOrigins {
  readonly alone: string;
  readonly together: string;
}

export interface PodLook {
  readonly reachesStore: boolean;
  readonly alone: Level;
  readonly together: Level;
}

/** The last rider of each way of counting. */
export type Riders = Readonly<Record<Counting, string>>;

/** An alias, since an interface has no index signature. */
export type PodProcedures = {
  readonly open: (call: OpenCall) => Promise<PodOrigins[]>;
  /** The pods' buckets of the riders: in `together` that of the outage while the store is away. */
  readonly look: (riders: Riders) => Promise<PodLook[]>;
  /** Takes the shared memory away, or brings it back. */
  readonly turnMemory: (isUp: boolean) => void;
};

const WARM_UP = 10;

let memory: SharedMemory | undefined;
let pods: readonly { readonly alone: PodApp; readonly together: PodApp }[] = [];

answerCalls({
  open: async ({ pods: count, share, redisUrl }) => {
    memory = redisUrl === undefined ? new SharedMemory() : undefined;
    const shared = { localShare: share, ...(memory === undefined ? { redis: redisUrl } : { store: memory }) };
    pods = await Promise.all(
      Array.from({ length: count }, async () => ({
        alone: await PodApp.start({}),
        together: await PodApp.start(shared),
      })),
    );
    const origins = pods.map(({ alone, together }) => ({ alone: alone.url, together: together.url }));
    // Opens the connection to Redis, and has V8 compile what a burst runs.
    for (let i = 0; i < WARM_UP; i++) {
      await Promise.all(origins.flatMap((origin) => Object.values<string>(origin)).map((origin) => warmUp(origin, i)));
    }
    return origins;
  },
  look: (riders) =>
    Promise.all(
      pods.map(async ({ alone, together }): Promise<PodLook> => {
        const reachesStore = memory?.isUp ?? together.reachesStore;
        const rider = reachesStore ? riders.together : riders.outage;
        const [own, shared] = await Promise.all([alone.levelOf(riders.alone), together.levelOf(rider)]);
        return { reachesStore, alone: own, together: shared };
      }),
    ),
  turnMemory: (isUp) => memory?.turn(isUp),
} satisfies PodProcedures);

async function warmUp(origin: string, turn: number): Promise<void> {
  const response = await fetch(`${origin}/rides`, { method: 'POST', headers: { 'x-user-id': `warm-up-${turn}` } });
  await response.text();
}
