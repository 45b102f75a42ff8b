// One of the two worlds: the whole application in a process of its own, with a matching service and a database in the process.
import type { AddressInfo, Server } from 'node:net';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { LoggerService } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { NestFactory } from '@nestjs/core';
import { RateLimiter } from 'nestjs-floodgate';
import { AppModule } from '../../app.module.js';
import type { Configuration } from '../../config/configuration.js';
import { PatientAdapter } from '../../http/patient-adapter.js';
import { Enforcement } from '../../limits/enforcement.js';
import { MATCHING_LIMIT, matchingLimit, RIDES } from '../../limits/policies.js';
import { Routes } from '../../limits/routes.js';
import { Matching } from '../../matching/matching.js';
import { answerCalls } from '../../../libs/processes/answer-calls.js';
import { deciderOf } from '../decider.js';
import type { Decider, PolicyTick } from '../live.js';
import { parametersOf } from '../policy-state.js';
import { policyTicksOf } from '../policy-tick.js';

/** What the parent sees of a world in one moment. */
export interface WorldLook {
  readonly enforced: boolean;
  readonly decider: Decider;
  /** Requests in matching's queue. */
  readonly waiting: number;
  /** The busy share of matching's workers, 0 to 1. */
  readonly utilisation: number;
  /** The rider's policies on ride requests, as the next request finds them. */
  readonly policies: readonly { readonly name: string; readonly tick: PolicyTick }[];
  /** The clock of those policies: milliseconds since 1970. */
  readonly at: number;
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
  readonly open: (configuration: Configuration) => Promise<number>;
  readonly enforce: (on: boolean) => void;
  /** @param riderId the rider whose policies are explained */
  readonly look: (riderId: string) => Promise<WorldLook>;
};

const MAX_LOGGED = 20;
/** The resolution of the monitor, which it adds to every delay. */
const RESOLUTION_MS = 10;

const logged: string[] = [];
const logger: LoggerService = { log: ignore, warn: keep, error: keep, fatal: keep, debug: ignore, verbose: ignore };
const lateness = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
let world: World | undefined;

answerCalls({
  open: async (configuration) => {
    world = await World.open(configuration);
    lateness.enable();
    return world.port;
  },
  enforce: (on) => world!.enforcement.set(on),
  look: (riderId) => world!.look(riderId),
} satisfies WorldProcedures);

class World {
  private before: (PolicyTick | null)[] | undefined;

  private constructor(
    readonly port: number,
    readonly enforcement: Enforcement,
    private readonly config: ConfigService<Configuration, true>,
    private readonly limiter: RateLimiter,
    private readonly matching: Matching,
    private readonly routes: Routes,
  ) {}

  static async open(configuration: Configuration): Promise<World> {
    const app = await NestFactory.create(AppModule.forRoot(configuration), new PatientAdapter(), {
      abortOnError: false,
      logger,
    });
    await app.listen(configuration.port, configuration.bind);
    const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
    return new World(
      port,
      app.get(Enforcement, { strict: false }),
      app.get(ConfigService, { strict: false }),
      app.get(RateLimiter, { strict: false }),
      app.get(Matching, { strict: false }),
      app.get(Routes, { strict: false }),
    );
  }

  async look(riderId: string): Promise<WorldLook> {
    const { config, enforcement, limiter } = this;
    const rides = this.routes.find('POST', '/api/rides/request');
    const policies = [RIDES, { ...matchingLimit(config), name: MATCHING_LIMIT }].map(parametersOf);
    const [explained, { waiting, recent }] = await Promise.all([
      // The library logs why it cannot answer.
      this.routes.explain(rides, { kind: 'user', value: riderId }, { plan: null }).catch(() => undefined),
      this.matching.statistics(),
    ]);
    const ticks = explained && policyTicksOf(policies, explained, 1, this.before);
    this.before = ticks;
    const { user, system } = process.cpuUsage();
    const lateP99Ms = Math.max(0, lateness.percentile(99) / 1e6 - RESOLUTION_MS);
    lateness.reset();
    return {
      enforced: enforcement.on,
      decider: deciderOf(config, enforcement, limiter),
      waiting,
      utilisation: recent.utilisation,
      policies: policies.flatMap(({ name }, i) => {
        const tick = ticks?.[i];
        return tick ? [{ name, tick }] : [];
      }),
      at: explained === undefined ? Date.now() : Date.parse(explained.at),
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
