import type { AddressInfo, Server } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import {
  type Abstract,
  type DynamicModule,
  type INestApplication,
  type LoggerService,
  Module,
  type Type,
} from '@nestjs/common';
import { type AbstractHttpAdapter, APP_GUARD, NestFactory } from '@nestjs/core';
import { RateLimiter } from 'nestjs-floodgate';
import { answerCalls } from '../../processes/answer-calls.js';
import type { MatchingLoad } from '../room-application.js';
import { LimitsSwitch, SwitchedGuard } from './limits-switch.js';
import type { Decider } from './surge-tick.js';

/** The application of a world. */
export interface WorldApplication<C extends object> {
  /** The root module, without a `RateLimitGuard`: the world binds one with a switch. */
  readonly module: (configuration: C) => DynamicModule;
  readonly adapter: () => AbstractHttpAdapter;
  /** The injection token of what the page shows. */
  readonly matching: Token<{ statistics(): Promise<MatchingLoad> }>;
}

type Token<T> = Type<T> | Abstract<T>;

export interface OpenWorld {
  /** What `RoomSurge.configuration` has made. */
  readonly configuration: object;
  readonly usesRedis: boolean;
}

/** What the parent sees of a world in one moment. */
export interface WorldLook {
  readonly enforced: boolean;
  readonly decider: Decider;
  /** Requests in matching's queue. */
  readonly waiting: number;
  /** CPU milliseconds of this process since its start. */
  readonly cpuMs: number;
  /** How late timers fire, in milliseconds: p99 since the last look. */
  readonly lateP99Ms: number;
  /** Warnings and errors since the last look. */
  readonly logged: readonly string[];
}

/** An alias, since an interface has no index signature. */
export type WorldProcedures = {
  /** Starts the application. @returns its port */
  readonly open: (call: OpenWorld) => Promise<number>;
  readonly enforce: (on: boolean) => void;
  readonly look: () => Promise<WorldLook>;
};

const MAX_LOGGED = 20;
/** The resolution of the monitor, which it adds to every delay. */
const RESOLUTION_MS = 10;

const logged: string[] = [];
const logger: LoggerService = { log: ignore, warn: keep, error: keep, fatal: keep, debug: ignore, verbose: ignore };
const lateness = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

/**
 * Makes this process one of the two worlds: the whole application in a process of its own, with a matching service and a database in
 * the process. The script of `RoomSurge` calls it.
 *
 * @example
 * ```ts
 * runWorld({
 *   module: (configuration: Configuration) => AppModule.forRoot(configuration),
 *   adapter: () => new ExpressAdapter(),
 *   matching: Matching,
 * });
 * ```
 */
export function runWorld<C extends object>(application: WorldApplication<C>): void {
  let world: World | undefined;
  answerCalls({
    open: async (call) => {
      world = await World.open(application, call);
      lateness.enable();
      return world.port;
    },
    enforce: (on) => world!.limits.set(on),
    look: () => world!.look(),
  } satisfies WorldProcedures);
}

/** The application with the world's own guard. */
@Module({ providers: [LimitsSwitch, { provide: APP_GUARD, useClass: SwitchedGuard }] })
class WorldModule {}

class World {
  readonly port: number;
  readonly limits: LimitsSwitch;
  private readonly limiter: RateLimiter;
  private readonly matching: { statistics(): Promise<MatchingLoad> };

  private constructor(
    app: INestApplication,
    { matching }: Pick<WorldApplication<object>, 'matching'>,
    private readonly call: OpenWorld,
  ) {
    this.port = ((app.getHttpServer() as Server).address() as AddressInfo).port;
    this.limits = app.get(LimitsSwitch);
    this.limiter = app.get(RateLimiter, { strict: false });
    this.matching = app.get(matching, { strict: false });
  }

  static async open<C extends object>(application: WorldApplication<C>, call: OpenWorld): Promise<World> {
    const root = { module: WorldModule, imports: [application.module(call.configuration as C)] };
    const app = await NestFactory.create(root, application.adapter(), { abortOnError: false, logger });
    await app.listen(0, '127.0.0.1');
    return new World(app, application, call);
  }

  private get decider(): Decider {
    if (!this.limits.on) return 'none';
    if (!this.call.usesRedis) return 'process';
    return this.limiter.stats().store.available ? 'redis' : 'fallback';
  }

  async look(): Promise<WorldLook> {
    const { limits } = this;
    const { waiting } = await this.matching.statistics();
    const { user, system } = process.cpuUsage();
    const lateP99Ms = Math.max(0, lateness.percentile(99) / 1e6 - RESOLUTION_MS);
    lateness.reset();
    return {
      enforced: limits.on,
      decider: this.decider,
      waiting,
      cpuMs: (user + system) / 1000,
      lateP99Ms: Number.isNaN(lateP99Ms) ? 0 : lateP99Ms,
      logged: logged.splice(0),
    };
  }
}

function ignore(): void {
  // The parent's log is about the parent.
}

/** The parent logs these. */
function keep(message: unknown): void {
  if (logged.length < MAX_LOGGED) logged.push(String(message));
}
