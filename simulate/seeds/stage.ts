import type { LimiterParts } from '../../libs/floodgate/src/limiter/limiter-parts.js';
import { limiterOn } from '../pods/limiter.js';
import { LuaRedis } from '../redis/lua-redis.js';
import type { RedisServer } from '../redis/server.js';
import type { SimulatedClient } from '../redis/client.js';
import { COSTS, type Settings } from '../settings.js';
import { World } from '../world.js';
import type { Asked, History, Level, Operated, Process, Span } from './history.js';
import type { Event, Story } from './story.js';
import type { SeedStrategy } from './strategy.js';
import { Work } from './work.js';

const MS = 1000;
/** Microseconds in which the pods boot and connect. */
const WARM_UP = 500 * MS;
/** Microseconds without events at the end: longer than a lease, an expiry and a sweep of the reservations that are due. */
const QUIET = 14_000 * MS;
/** How long before the end the levels are read. */
const READING = 1_000 * MS;
/** The clients of a story. */
const CLIENTS = 2;
const DEADLINE_MS = 50;
const DELAY = { microseconds: 150, jitter: 50 };

export const userOf = (who: number): { kind: string; value: string } => ({ kind: 'user', value: `client-${who}` });

/** A pod as it runs now. */
interface Running {
  process: Process;
  parts: LimiterParts;
  client: SimulatedClient;
}

/** Performs a story, and returns what happened. The same story always has the same history. */
export async function perform(strategy: SeedStrategy, story: Story): Promise<History> {
  const redis = new LuaRedis();
  try {
    return await new Stage(strategy, story, redis).perform();
  } finally {
    redis.forgetAll();
  }
}

class Stage {
  private readonly world: World;
  private readonly server: RedisServer;
  private readonly running: (Running | undefined)[] = [];
  private readonly asked: Asked[] = [];
  private readonly operated: Operated[] = [];
  private readonly spans: Span[] = [];
  private readonly clocks = [{ from: -Infinity, ahead: 0 }];
  private readonly levels: Level[] = [];
  /** What failed of the simulation itself. */
  private failure: Error | undefined;

  constructor(
    private readonly strategy: SeedStrategy,
    private readonly story: Story,
    redis: LuaRedis,
  ) {
    // Each pod has a network of its own, which the simulation calls a region. The last one reads the levels.
    this.world = new World(settingsFor(story.pods + 1), () => undefined);
    this.server = this.world.addServer(0, redis);
  }

  async perform(): Promise<History> {
    const { world, story } = this;
    const { scheduler } = world;
    for (let pod = 0; pod < story.pods; pod++) this.boot(pod);
    let at = WARM_UP;
    let last = at;
    for (const event of story.events) {
      at += event.after * MS;
      last = Math.max(last, at + ('ms' in event && event.do !== 'step' ? event.ms * MS : 0));
      scheduler.at(at, () => this.happen(event));
    }
    const quietAt = last + QUIET - READING;
    scheduler.at(last + READING, () => this.boot(story.pods));
    scheduler.at(last + 2 * READING, () =>
      this.inPod(story.pods, ({ parts }) => this.strategy.attend?.(parts.limiter)),
    );
    scheduler.at(quietAt, () => this.inPod(story.pods, ({ parts }) => this.read(parts)));
    await world.run(last + QUIET);
    if (this.failure !== undefined) throw this.failure;
    const { asked, operated, spans, clocks, levels } = this;
    return { asked, operated, spans, clocks, levels, quietAt };
  }

  private get now(): number {
    return this.world.scheduler.now;
  }

  private boot(i: number): void {
    const { world, server, strategy } = this;
    const pod = world.pods[i]!;
    const process = { pod: i, bornAt: this.now };
    pod.loop.post(() => {
      const client = world.clientOf(pod, server);
      const options = {
        deadline: DEADLINE_MS,
        onStoreFailure: 'closed' as const,
        policies: strategy.policies,
      };
      const parts = limiterOn(client, options, world.clock);
      this.running[i] = { process, parts, client };
      void parts.start();
    });
  }

  /** Runs a task in the process of a pod. What it rejects with is a bug of the simulation. */
  private inPod(i: number, task: (running: Running) => unknown): void {
    this.world.pods[i]!.loop.post(() => {
      const running = this.running[i];
      if (running === undefined) return; // the load balancer knows the pods that live
      Promise.resolve(task(running)).catch((error: unknown) => (this.failure ??= error as Error));
    }, COSTS.request);
  }

  private happen(event: Event): void {
    const { world, server, story } = this;
    const i = 'pod' in event ? event.pod % story.pods : 0;
    const path = world.path(i, 0);
    switch (event.do) {
      case 'ask':
        return this.inPod(i, async ({ process, parts }) => {
          const asked: Asked = { ask: event, process, askedAt: this.now };
          const work = new Work(
            asked,
            () => this.now,
            (one) => void this.asked.push(one),
          );
          await this.strategy.ask(parts.limiter, event, work).catch((error: Error) => work.failed(error));
        });
      case 'operate':
        return this.inPod(i, async ({ process, parts: { overrides } }) => {
          const operated: Operated = { operate: event, process, askedAt: this.now };
          this.operated.push(operated);
          const target = {
            policy: 'limited',
            identity: event.who === null ? ('everyone' as const) : userOf(event.who),
          };
          const { limit } = event;
          const change =
            limit === null ? overrides.remove(target) : overrides.set(target, { limit }, { author: 'seeds' });
          await change.then(
            (value) => (operated.ended = { at: this.now, value }),
            (error: Error) => (operated.ended = { at: this.now, error }),
          );
        });
      case 'lose':
      case 'delay': {
        path.break(event.way === 'both' ? ['there', 'back'] : [event.way], event.do === 'lose' ? 'lost' : 'held');
        return this.during(event.do, event.ms, i, () => {
          path.mend();
          // TCP delivers nothing after what it has lost.
          if (event.do === 'lose') this.running[i]?.client.lose(server);
        });
      }
      case 'cut':
        this.running[i]?.client.lose(server);
        return this.during('cut', 0, i);
      case 'restart':
        world.stopServer(server);
        return this.during('restart', event.ms, undefined, () => server.start());
      case 'hang':
        server.hang(event.ms * MS);
        return this.during('hang', event.ms, undefined);
      case 'flush':
        server.flush();
        return this.during('flush', 0, undefined);
      case 'step': {
        server.stepClock(event.ms * MS);
        this.clocks.push({ from: this.now, ahead: this.clocks.at(-1)!.ahead + event.ms * MS });
        return this.during('step', 0, undefined);
      }
      case 'kill':
        if (!this.die(i)) return;
        world.replacePod(i);
        return this.during('kill', event.ms, i, () => this.boot(i));
      case 'close':
        return this.inPod(i, ({ parts }) => {
          if (!this.die(i)) return;
          void parts.limiter.close();
          this.spans.push({ what: 'close', from: this.now, to: this.now, pod: i });
          this.boot(i);
        });
      case 'stall':
        world.pods[i]!.loop.post(() => undefined, event.ms * MS);
        return this.during('stall', event.ms, i);
    }
  }

  /** @returns whether there was a process */
  private die(i: number): boolean {
    const running = this.running[i];
    if (running === undefined) return false;
    running.process.diedAt = this.now;
    this.running[i] = undefined;
    return true;
  }

  /** Notes a trouble, and ends it. */
  private during(what: string, ms: number, pod: number | undefined, end: () => void = () => undefined): void {
    const [from, to] = [this.now, this.now + ms * MS];
    this.spans.push({ what, from, to, pod });
    this.world.scheduler.at(to, end);
  }

  private async read({ limiter }: LimiterParts): Promise<void> {
    for (const policy of Object.keys(this.strategy.policies)) {
      for (let who = 0; who < CLIENTS; who++) {
        const { policies, decidedAtMs } = await limiter.peek(policy, userOf(who));
        const { limit, remaining, resetAfterMs } = policies[0]!;
        const at = Math.round(decidedAtMs * MS);
        this.levels.push({ policy, who, at, limit, remaining, resetAfter: Math.round(resetAfterMs * MS) });
      }
    }
  }
}

function settingsFor(pods: number): Settings {
  const network = { near: DELAY, far: DELAY };
  return {
    pods,
    regions: pods,
    homeShare: 1,
    seed: 1,
    deadlineMs: DEADLINE_MS,
    exchangeMs: 1,
    drift: 0.0002,
    costs: COSTS,
    network,
  };
}
