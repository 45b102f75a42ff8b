import { HttpSender, Rider, ROUTES } from '../../riders/index.js';
import { Child, START_LIMIT_MS } from '../../processes/child.js';
import type { RoomApplication } from '../room-application.js';
import type { WorldSize } from './city.js';
import type { WorldId } from './surge-tick.js';
import type { OpenWorld, WorldLook, WorldProcedures } from './run-world.js';

export const WORLD_IDS: readonly WorldId[] = ['left', 'right'];

export type OfWorlds<T> = Readonly<Record<WorldId, T>>;

/** The subjects of messages. */
export const WORLD_NAMES: OfWorlds<string> = {
  left: 'The world without limits',
  right: 'The world with limits',
};

/** A process that does not answer for so long hangs, and is killed. It may be busy: one of the two worlds is overrun. */
const SILENCE_MS = 15_000;
/** Rounds of requests to every route before the first run: V8 compiles what it runs often. */
const WARM_UP_ROUNDS = 40;
/** Requests at once in the warm-up. They do not fill matching's queue. */
const WARM_UP_AT_ONCE = 4;
/** The longest that the warm-up begins rounds, and that a request of it takes: workers of a slow matching take seconds for each. */
const WARM_UP_MS = 5000;
/** Riders of the warm-up: none of the crowd. */
const WARM_UP_RIDERS = 1_000_000;

/** A process of the application with a matching service of its own, whose script calls `runWorld`. */
export class World implements AsyncDisposable {
  private constructor(
    readonly id: WorldId,
    private readonly child: Child<WorldProcedures>,
    readonly origin: string,
  ) {}

  /**
   * Resolves when the world serves requests fast.
   *
   * @param redisUrl undefined: the world keeps its limits in its process
   * @param signal kills the world
   * @throws Error with the last output of a world that does not start
   */
  static async start(
    id: WorldId,
    size: WorldSize,
    { surge }: Pick<RoomApplication, 'surge'>,
    redisUrl: string | undefined,
    signal: AbortSignal,
  ): Promise<World> {
    const child = await Child.start<WorldProcedures>({ name: WORLD_NAMES[id], script: surge.script, signal });
    try {
      const call: OpenWorld = {
        configuration: surge.configuration(size, redisUrl),
        usesRedis: redisUrl !== undefined,
      };
      const port = await child.call('open', call, START_LIMIT_MS);
      const world = new World(id, child, `http://127.0.0.1:${port}`);
      await world.warmUp();
      return world;
    } catch (error) {
      await child[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** @throws Error with the last output of a world that has ended */
  enforce(on: boolean): Promise<void> {
    return this.child.call('enforce', on);
  }

  /** @throws Error with the last output of a world that has ended, or hangs */
  look(): Promise<WorldLook> {
    return this.child.call('look', undefined, SILENCE_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child[Symbol.asyncDispose]();
  }

  private async warmUp(): Promise<void> {
    await this.child.call('enforce', true);
    const sender = new HttpSender([this.origin], { patienceMs: WARM_UP_MS });
    const until = performance.now() + WARM_UP_MS;
    try {
      for (let round = 0; round < WARM_UP_ROUNDS && performance.now() < until; round++) {
        const requests = Array.from({ length: WARM_UP_AT_ONCE }, (_, i) => {
          const route = ROUTES[(round + i) % ROUTES.length]!;
          return { ...new Rider(round, WARM_UP_RIDERS + i).next(), route };
        });
        await Promise.all(requests.map((request) => sender.send(request, 0)));
      }
    } finally {
      await sender.close();
    }
  }
}
