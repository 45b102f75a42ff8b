import { ConflictException, Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import { headOf } from '../../processes/child.js';
import type { Room } from '../live.js';
import { RIDES_PART } from '../../riders/index.js';
import { RoomApplication } from '../room-application.js';
import { StageRedis } from '../stage-redis.js';
import { type City, cityFor } from './city.js';
import { type RunTimes, SurgeRun } from './surge-run.js';
import type { SurgeDescription, SurgePhase, SurgeTick, WorldId, WorldTick } from './surge-tick.js';
import { idleTick } from './world-run.js';
import type { OfWorlds } from './world.js';
import { Worlds } from './worlds.js';

/** Riders repeat what was not served: in a rush they send about so many times the demand. */
const RETRIED = 1.25;

/** The injection token of `StageOptions`. */
export const STAGE_OPTIONS = Symbol('StageOptions');

export interface StageOptions {
  readonly times: RunTimes;
  /** Whether the worlds start with the first viewer, so that the button works at once. */
  readonly startsWithViewer: boolean;
  /** How long the worlds stay after the last viewer has left. */
  readonly lingerMs: number;
  /** How long the worlds stay after the last run, and after their start, while viewers watch. A press starts them again. */
  readonly idleMs: number;
}

/** The two worlds, and the surge that meets both. Without a viewer there is no world. */
@Injectable()
export class Stage implements OnModuleDestroy {
  private readonly logger = new Logger('ControlRoom');
  /** Undefined with the mode `watch`. */
  private readonly city: City | undefined;
  private worlds: Worlds | undefined;
  /** The run, or the last one. */
  private run: SurgeRun | undefined;
  private last: OfWorlds<WorldTick> | null = null;
  private problem: string | null = null;
  /** A surge was asked for before the worlds were ready. */
  private isWanted = false;
  private viewers = 0;
  private linger: NodeJS.Timeout | undefined;
  private idle: NodeJS.Timeout | undefined;
  /** The end of the last worlds. */
  private closing: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(
    private readonly application: RoomApplication,
    private readonly redis: StageRedis,
    @Inject(STAGE_OPTIONS) private readonly options: StageOptions,
  ) {
    this.city = application.mode === 'on' ? cityFor(application.surge.matching) : undefined;
  }

  /** Null with the mode `watch`. */
  get description(): SurgeDescription | null {
    if (this.city === undefined) return null;
    const { world: _, drawnOneOf, ...city } = this.city;
    const dots = Math.ceil((RETRIED * city.demand * RIDES_PART * this.seconds) / drawnOneOf);
    return { ...city, seconds: this.seconds, dots };
  }

  get history(): Room['history'] {
    return this.run?.history ?? null;
  }

  /** A viewer has come. @returns the function to call when the viewer leaves */
  enter(): () => void {
    if (this.city === undefined) return () => undefined;
    this.viewers++;
    clearTimeout(this.linger);
    if (this.options.startsWithViewer) void this.open();
    return () => {
      this.viewers--;
      if (this.viewers === 0) this.endLater(this.options.lingerMs);
    };
  }

  /** Starts a run, as soon as the worlds are ready. Does nothing while one runs. */
  start(): void {
    if (this.run?.isActive && !this.run.isEnding) return;
    this.isWanted = true;
    // Without a viewer nobody leaves.
    if (this.viewers === 0) this.endLater(1000 * this.seconds + this.options.lingerMs);
    void this.open();
    void this.begin();
  }

  /** Riders send no further requests. */
  stop(): void {
    this.isWanted = false;
    const { run } = this;
    if (run?.isActive) void run.stop();
  }

  /** @throws ConflictException without worlds, or when the world ends meanwhile */
  async setLimits(id: WorldId, on: boolean): Promise<void> {
    const { worlds } = this;
    if (worlds?.ready === undefined) {
      throw new ConflictException('no world runs yet; wait until the phase of the surge is "ready"');
    }
    this.run?.switched();
    try {
      await worlds.enforce(id, on);
    } catch (error) {
      this.fail(worlds, error as Error);
      throw new ConflictException('the world has just ended; start a surge, or load the page again, to start another');
    }
  }

  tick(): SurgeTick | null {
    if (this.city === undefined) return null;
    const { redisAway, run, worlds } = this;
    const looks = worlds?.looks;
    if (looks !== undefined) {
      this.last = {
        left: run?.tick('left', looks.left, redisAway) ?? idleTick(looks.left, redisAway),
        right: run?.tick('right', looks.right, redisAway) ?? idleTick(looks.right, redisAway),
      };
    }
    const nothing = { sent: [], answered: [] };
    const { last } = this;
    return {
      phase: this.phase,
      problem: this.problem,
      atMs: Math.round(run?.atMs ?? 0),
      secondsLeft: run?.secondsLeft ?? 0,
      worlds:
        looks !== undefined || last === null
          ? last
          : { left: { ...last.left, drawn: nothing }, right: { ...last.right, drawn: nothing } },
      busy: run?.busy ?? null,
      verdicts: run?.verdicts ?? [],
      stoppedAfterS: run?.stoppedAfterS ?? null,
    };
  }

  async onModuleDestroy(): Promise<void> {
    this.closed = true;
    await this.end();
  }

  private get redisAway(): boolean {
    return this.redis.state === 'down';
  }

  private get seconds(): number {
    return Object.values(this.options.times).reduce((sum, ms) => sum + ms, 0) / 1000;
  }

  private get phase(): SurgePhase {
    const { run, worlds } = this;
    if (this.problem !== null) return 'unavailable';
    if (worlds === undefined) return 'idle';
    if (worlds.ready === undefined) return 'starting';
    if (!run?.isActive) return 'ready';
    return run.isEnding ? 'ending' : run.phase;
  }

  /** Starts the worlds, unless they run. */
  private async open(): Promise<void> {
    if (this.worlds !== undefined || this.closed) return;
    this.problem = null;
    const worlds = new Worlds(
      (looks) => this.run?.watch(looks, this.redisAway),
      (error) => this.fail(worlds, error),
    );
    this.worlds = worlds;
    await this.closing;
    await worlds.start(this.city!.world, this.application, () => this.redis.url());
    // Meanwhile they may have ended, and others may have taken their place.
    if (this.worlds !== worlds) return;
    this.endIdle();
    await this.begin();
  }

  /** Begins a run that is wanted, if all is ready for it. */
  private async begin(): Promise<void> {
    const { worlds, city, run } = this;
    const ready = worlds?.ready;
    // While another run ends, its end comes back here.
    if (!this.isWanted || ready === undefined || worlds!.isPreparing || run?.isActive) return;
    await worlds!.prepare();
    // Meanwhile a person may have stopped it, or the worlds may have ended.
    if (!this.isWanted || this.worlds !== worlds || this.run?.isActive) return;
    this.isWanted = false;
    const begun = new SurgeRun(
      ready,
      city!,
      this.options.times,
      () => {
        this.endIdle();
        void this.begin();
      },
      (error) => this.fail(worlds!, error),
    );
    this.run = begun;
    this.logger.log(`The surge begins: ${city!.riders} simulated riders, ${city!.demand} requests/s for each world`);
  }

  private fail(worlds: Worlds, error: Error): void {
    if (this.worlds !== worlds) return;
    this.logger.error(`The surge is not available: ${error.message}`);
    // The output of the process is for the log.
    this.problem = headOf(error);
    void this.end();
  }

  private endLater(ms: number): void {
    clearTimeout(this.linger);
    this.linger = setTimeout(() => void this.end(), ms).unref();
  }

  /** Ends worlds that no run needs for a while. */
  private endIdle(): void {
    clearTimeout(this.idle);
    this.idle = setTimeout(() => {
      if (this.isWanted || this.run?.isActive) this.endIdle();
      else void this.end();
    }, this.options.idleMs).unref();
  }

  /** Ends worlds and run. Worlds that start later start after this. */
  private end(): Promise<void> {
    const { worlds, run } = this;
    this.isWanted = false;
    clearTimeout(this.linger);
    clearTimeout(this.idle);
    if (worlds === undefined) return this.closing;
    this.tick(); // keeps the last figures
    this.worlds = undefined;
    const ended = [run?.isActive ? run.abort() : undefined, worlds[Symbol.asyncDispose]()];
    this.closing = Promise.allSettled([this.closing, ...ended]).then(() => undefined);
    return this.closing;
  }
}
