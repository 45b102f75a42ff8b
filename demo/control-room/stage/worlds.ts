import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { RoomApplication } from '../room-application.js';
import type { WorldSize } from './city.js';
import type { WorldId } from './surge-tick.js';
import { OnceEach } from './once-each.js';
import { type OfWorlds, World, WORLD_IDS, WORLD_NAMES } from './world.js';
import type { WorldLook } from './run-world.js';

const LOOK_MS = 250;
/** The longest that a run waits for the queue of the last one. */
const MAX_QUEUE_MS = 20_000;

/** The databases of the stage's Redis: each world has limits of its own. */
const DATABASES: OfWorlds<number> = { left: 1, right: 2 };

/** Both worlds, from their start to their end, and what they look like now. */
export class Worlds implements AsyncDisposable {
  private readonly logger = new Logger('World');
  private readonly killer = new AbortController();
  private started: OfWorlds<World> | undefined;
  private shown: OfWorlds<WorldLook> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isLooking = false;
  private preparing = false;
  private starting: Promise<readonly PromiseSettledResult<World>[]> = Promise.resolve([]);
  private readonly told = new OnceEach((line) => this.logger.warn(line));

  /**
   * @param onLook called several times per second with what both worlds look like
   * @param onProblem called once, when a world does not start, does not answer or ends
   */
  constructor(
    private readonly onLook: (looks: OfWorlds<WorldLook>) => void,
    private readonly onProblem: (error: Error) => void,
  ) {}

  /** Undefined while they start. */
  get ready(): OfWorlds<World> | undefined {
    return this.shown && this.started;
  }

  get looks(): OfWorlds<WorldLook> | undefined {
    return this.shown;
  }

  get isPreparing(): boolean {
    return this.preparing;
  }

  /** @param redisUrl undefined: each world keeps its limits in its process */
  async start(
    size: WorldSize,
    application: RoomApplication,
    redisUrl: () => Promise<string | undefined>,
  ): Promise<void> {
    try {
      const url = await redisUrl();
      if (this.killer.signal.aborted) return;
      const one = (id: WorldId): Promise<World> =>
        World.start(id, size, application, url && databaseOf(url, id), this.killer.signal);
      const both = [one('left'), one('right')] as const;
      this.starting = Promise.allSettled(both);
      const [left, right] = await Promise.all(both);
      this.started = { left, right };
      await left.enforce(false);
      await this.look();
      this.timer = setInterval(() => void this.refresh(), LOOK_MS);
    } catch (error) {
      this.fail(error as Error);
    }
  }

  /** Gives both worlds the limits that a run begins with, and waits until they have worked off the queue of the last run. */
  async prepare(): Promise<void> {
    this.preparing = true;
    this.told.forget();
    try {
      await Promise.all([this.enforce('left', false), this.enforce('right', true)]);
      const until = performance.now() + MAX_QUEUE_MS;
      while (this.isWorking && performance.now() < until && !this.killer.signal.aborted) {
        await delay(LOOK_MS);
        await this.refresh();
      }
    } catch (error) {
      this.fail(error as Error);
    } finally {
      this.preparing = false;
    }
  }

  private get isWorking(): boolean {
    const { looks } = this;
    return looks !== undefined && looks.left.waiting + looks.right.waiting > 0;
  }

  async enforce(id: WorldId, on: boolean): Promise<void> {
    await this.started![id].enforce(on);
    await this.refresh();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.killer.abort();
    clearInterval(this.timer);
    // One may have started where the other has failed.
    const worlds = (await this.starting).flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    await Promise.all(worlds.map((world) => world[Symbol.asyncDispose]()));
  }

  private async refresh(): Promise<void> {
    if (this.killer.signal.aborted || this.isLooking) return;
    try {
      await this.look();
    } catch (error) {
      this.fail(error as Error);
    }
  }

  private async look(): Promise<void> {
    const { left, right } = this.started!;
    this.isLooking = true;
    try {
      const [of, other] = await Promise.all([left.look(), right.look()]);
      this.shown = { left: of, right: other };
    } finally {
      this.isLooking = false;
    }
    for (const id of WORLD_IDS) {
      for (const line of this.shown[id].logged) this.told.tell(`${WORLD_NAMES[id]}: ${line}`);
    }
    this.onLook(this.shown);
  }

  private fail(error: Error): void {
    if (!this.killer.signal.aborted) this.onProblem(error);
  }
}

function databaseOf(url: string, id: WorldId): string {
  const database = new URL(url);
  database.pathname = `/${DATABASES[id]}`;
  return database.href;
}
