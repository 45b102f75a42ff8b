import { randomUUID } from 'node:crypto';
import { Injectable, Logger, type OnModuleDestroy, ServiceUnavailableException } from '@nestjs/common';
import { headOf } from '../../processes/child.js';
import { RoomApplication } from '../room-application.js';
import { StageRedis } from '../stage-redis.js';
import { Burst } from './burst.js';
import type { Level } from './pod-app.js';
import { POD_LIMIT } from './pod-limits.js';
import type { PodLook, Riders } from './pod.main.js';
import { PodProcess } from './pod-process.js';
import type {
  Counting,
  PodsDescription,
  PodsPhase,
  PodsResult,
  PodsResults,
  PodsTick,
  PodTick,
  SharedStoreKind,
} from './pods-tick.js';

const PODS = 3;
const EACH = 25;
/** The library rounds a share down. */
const SHARE = Math.floor(POD_LIMIT.capacity / PODS);

const NO_RIDERS: Riders = { alone: 'nobody', together: 'nobody', outage: 'nobody' };
const NO_RESULTS: PodsResults = { alone: null, together: null, outage: null };

/**
 * Three pods of a small service, which count each alone or together.
 *
 * They start at the first use, and end some time after the last viewer has left, or with this process.
 */
@Injectable()
export class Pods implements OnModuleDestroy {
  /** How long the pods outlive the last viewer. */
  idleMs = 30_000;
  private readonly logger = new Logger('ControlRoom');
  private readonly burst = new Burst();
  private processes: readonly PodProcess[] = [];
  private opening: Promise<readonly PodProcess[]> | undefined;
  private ending: Promise<unknown> = Promise.resolve();
  private phase: PodsPhase = 'asleep';
  private problem: string | null = null;
  private kind: SharedStoreKind | null = null;
  private isMemoryUp = true;
  private together = false;
  private results = NO_RESULTS;
  private presses = 0;
  /** Whose buckets the page shows. */
  private riders = NO_RIDERS;
  private idle: NodeJS.Timeout | undefined;
  private closed = false;

  constructor(
    private readonly application: RoomApplication,
    private readonly redis: StageRedis,
  ) {}

  /** Null where this process starts no pods. */
  room(): PodsDescription | null {
    if (this.watches) return null;
    const { capacity, refillPerMinute } = POD_LIMIT;
    return { pods: PODS, each: EACH, limit: capacity, refillPerMinute, share: SHARE };
  }

  /** Called as long as somebody watches. Starts a pod again that has ended. */
  tick(): PodsTick | null {
    if (this.watches) return null;
    this.stayAwake();
    for (const process of this.processes) process.check(this.riders);
    const looks = this.processes.flatMap(({ lookedFor, looks: all }) => (lookedFor === this.riders ? all : []));
    const shared = looks.find(({ reachesStore, together }) => reachesStore && together.decidedBy === 'store');
    return {
      phase: this.phase,
      problem: this.problem,
      together: this.together,
      store: {
        kind: this.kind,
        problem: this.kind === 'memory' ? (this.redis.problem ?? null) : null,
        isUp: this.isStoreUp,
        bucket: shared ? bucketOf(shared.together) : null,
      },
      pods: this.podTicks(),
      results: this.results,
    };
  }

  count(together: boolean): void {
    this.together = together;
    this.stayAwake();
  }

  /**
   * Sends a new rider's requests to all pods, and starts these if necessary.
   *
   * @throws ServiceUnavailableException when a pod does not start
   */
  async send(signal: AbortSignal): Promise<PodsResult> {
    const processes = await this.awake();
    signal.throwIfAborted();
    const { together } = this;
    const rider = `rider-${randomUUID()}`;
    const origins = processes.flatMap((process) =>
      process.origins.map((origin) => origin[together ? 'together' : 'alone']),
    );
    const sent = await this.burst.send(rider, origins, { each: EACH, together, signal });
    const result = { id: ++this.presses, ...sent };
    this.riders = { ...this.riders, [result.counting]: rider };
    this.results = { ...this.results, [result.counting]: result };
    await Promise.all(processes.map((process) => process.look(this.riders))); // so that the next tick has the rider's buckets
    return result;
  }

  /**
   * Takes the shared store away, or brings it back.
   *
   * @throws ServiceUnavailableException when a pod does not start, or the store does not come back
   */
  async turnStore(isUp: boolean): Promise<void> {
    this.stayAwake();
    if ((await this.redis.url()) === undefined) {
      const processes = await this.awake();
      await Promise.all(processes.map((process) => process.turnMemory(isUp)));
      this.isMemoryUp = isUp;
      return;
    }
    try {
      await (isUp ? this.redis.comeBack() : this.redis.goAway());
    } catch (error) {
      throw unavailable('redis_does_not_start', `redis-server does not start again: ${headOf(error as Error)}`);
    }
  }

  async onModuleDestroy(): Promise<void> {
    this.closed = true;
    clearTimeout(this.idle);
    await this.burst.close();
    await this.end();
  }

  private get watches(): boolean {
    return this.application.mode !== 'on';
  }

  private get isStoreUp(): boolean {
    return this.kind === 'memory' ? this.isMemoryUp : this.redis.state !== 'down';
  }

  private podTicks(): PodTick[] {
    if (this.processes.length === 0) {
      const state = this.phase === 'starting' ? 'starting' : 'asleep';
      return Array.from({ length: PODS }, (_, i) => this.podTick(i, { state, problem: null }, undefined, true));
    }
    const pods = this.processes.flatMap((process) =>
      Array.from({ length: process.pods }, (_, i) => ({ process, look: process.looks[i] })),
    );
    return pods.map(({ process: { state, problem, lookedFor }, look }, i) =>
      this.podTick(i, { state, problem }, look, lookedFor === this.riders),
    );
  }

  /**
   * What the page shows of a pod: nothing but what belongs to the way in which it counts now, and to the last rider who was counted so.
   *
   * @param isCurrent whether `look` has that rider's bucket
   */
  private podTick(
    i: number,
    process: Pick<PodTick, 'state' | 'problem'>,
    look: PodLook | undefined,
    isCurrent: boolean,
  ): PodTick {
    const counting = !this.together ? 'alone' : look?.reachesStore === false ? 'outage' : 'together';
    const result = this.results[counting]?.pods[i];
    return {
      ...process,
      counting,
      bucket: look === undefined || !isCurrent ? null : BUCKETS[counting](look),
      result: isCurrent && result?.counting === counting ? result : null,
    };
  }

  /** Ends the pods when nobody has watched for a while. */
  private stayAwake(): void {
    if (this.closed) return;
    clearTimeout(this.idle);
    this.idle = setTimeout(() => void this.sleep(), this.idleMs);
    this.idle.unref();
  }

  /** The next viewer finds what the first one found. */
  private async sleep(): Promise<void> {
    this.together = false;
    this.riders = NO_RIDERS;
    this.results = NO_RESULTS;
    await this.end();
    await this.redis.comeBack().catch((error: Error) => this.logger.warn(headOf(error)));
  }

  /** The processes, all of which answer. */
  private async awake(): Promise<readonly PodProcess[]> {
    this.stayAwake();
    this.opening ??= this.open();
    const processes = await this.opening;
    try {
      await Promise.all(processes.map((process) => process.start()));
    } catch (error) {
      throw unavailable('pods_unavailable', `a pod does not start: ${headOf(error as Error)}`);
    }
    return processes;
  }

  private async open(): Promise<readonly PodProcess[]> {
    await this.ending;
    this.phase = 'starting';
    this.problem = null;
    const redisUrl = await this.redis.url();
    if (this.closed) throw unavailable('pods_unavailable', 'this process is shutting down');
    this.kind = redisUrl === undefined ? 'memory' : 'redis';
    this.isMemoryUp = true;
    this.processes =
      redisUrl === undefined
        ? [new PodProcess('The process of the pods', { pods: PODS, share: PODS, redisUrl })]
        : Array.from({ length: PODS }, (_, i) => new PodProcess(`Pod ${i + 1}`, { pods: 1, share: PODS, redisUrl }));
    const { processes } = this;
    try {
      await Promise.all(processes.map((process) => process.start()));
      if (this.processes === processes) this.phase = 'ready';
      return processes;
    } catch (error) {
      // A process that is shutting down has killed them.
      if (!this.closed) this.logger.warn(`The pods of the control room do not start: ${(error as Error).message}`);
      await this.end();
      this.phase = 'unavailable';
      this.problem = headOf(error as Error);
      throw unavailable('pods_unavailable', `a pod does not start: ${this.problem}`);
    }
  }

  private async end(): Promise<void> {
    const { processes } = this;
    this.processes = [];
    this.opening = undefined;
    this.phase = 'asleep';
    this.ending = Promise.allSettled(processes.map((process) => process.close()));
    await this.ending;
  }
}

/** The bucket of a pod that decides; null: the shared one. */
const BUCKETS: Readonly<Record<Counting, (look: PodLook) => PodTick['bucket']>> = {
  alone: ({ alone }) => bucketOf(alone),
  together: () => null,
  outage: ({ together }) => shareOf(together),
};

function bucketOf({ limit, tokens }: Level): PodTick['bucket'] {
  return { limit, tokens };
}

/** For up to a second the denial cache still knows what the store has said. */
function shareOf({ limit, tokens, decidedBy }: Level): PodTick['bucket'] {
  return decidedBy === 'local' ? { limit, tokens } : { limit: SHARE, tokens: Math.min(SHARE, tokens) };
}

function unavailable(error: string, message: string): ServiceUnavailableException {
  return new ServiceUnavailableException({ statusCode: 503, error, message });
}
