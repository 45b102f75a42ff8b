import type { Policy } from 'nestjs-floodgate';
import type { Admission } from '../../../lab/textbook/bounds.js';
import type { Decider, Outcome } from '../../../simulate/pods/decider.js';
import { bound, PodEngine } from '../../../simulate/pods/engine.js';
import type { Answered, Pod } from '../../../simulate/pods/pod.js';
import { ProgramTwin } from '../../../simulate/redis/program-twin.js';
import type { RedisServer } from '../../../simulate/redis/server.js';
import { COSTS } from '../../../simulate/settings.js';
import { World } from '../../../simulate/world.js';

const MS = 1000;
/** Milliseconds in which all pods boot and connect. A window of a second begins at their end. */
const BOOT_MS = 1000;
/** On the way to Redis or back, in microseconds. The jitter is a mean: some messages take much longer. */
const DELAY = { microseconds: 100, jitter: 1000 };

/** What may go wrong. Times are milliseconds of true time. */
export interface Troubles {
  /** The largest part by which a pod's clock is fast or slow. */
  readonly drift: number;
  /** The part of the messages that get lost, in each direction: half of the calls that fail were carried out. */
  readonly loss: number;
  /** How often a pod dies, in turn; another one takes its place. */
  readonly deathEvery?: number;
  /** When Redis is away, and for how long. */
  readonly outage?: { readonly from: number; readonly lasts: number };
}

/** What decides in a pod. It counts what prefetched tokens have paid. */
class Process implements Decider {
  private paid = 0;

  constructor(readonly engine: PodEngine) {}

  /** Tokens that were prefetched and may still be used. */
  get held(): number {
    const { prefetched, returned, expired } = this.engine.prefetch;
    return prefetched - returned - expired - this.paid;
  }

  decide(identity: string, cost = 1): Outcome | Promise<Outcome> {
    const outcome = this.engine.decide(identity, cost);
    if (!(outcome instanceof Promise) && outcome.by === 'prefetch') this.paid += cost;
    return outcome;
  }
}

/** Pods of the simulation that decide with one Redis: each has an engine, a connection and a clock of its own. */
export class VirtualPods {
  /** Admissions in microseconds of true time. */
  readonly admissions: Admission[] = [];
  readonly decidedBy: Record<string, number> = {};
  /** Tokens that pods held when they died. Redis has charged them, so they count as used. */
  lost = 0;
  private readonly world: World;
  private readonly twin = new ProgramTwin();
  private readonly server: RedisServer;
  private readonly processes = new Map<Pod, Process>();
  private readonly policies;

  private constructor(
    policies: readonly Policy[],
    private readonly troubles: Troubles,
    pods: number,
    seed: number,
  ) {
    const { drift, loss } = troubles;
    const near = { ...DELAY, loss };
    this.policies = policies.map((policy, i) => bound({ name: `p${i}`, ...policy }));
    this.world = new World(
      {
        pods,
        regions: 1,
        homeShare: 1,
        seed,
        deadlineMs: 50,
        onStoreFailure: 'closed',
        exchangeMs: 100,
        drift,
        costs: COSTS,
        network: { near, far: near },
      },
      this.record,
    );
    this.server = this.world.addServer(0, this.twin);
  }

  static async boot(policies: readonly Policy[], troubles: Troubles, pods: number, seed: number): Promise<VirtualPods> {
    const all = new VirtualPods(policies, troubles, pods, seed);
    for (const pod of all.world.pods) all.start(pod);
    await all.run(BOOT_MS);
    all.begin();
    return all;
  }

  /** Milliseconds of true time since the pods were there. */
  get now(): number {
    return this.world.scheduler.now / MS - BOOT_MS;
  }

  /** Microseconds of true time, as of `admissions`. */
  clock(): number {
    return Math.floor(this.world.scheduler.now);
  }

  /** Calls of scripts that Redis has served. */
  get calls(): number {
    return this.server.calls;
  }

  /** Tokens prefetched that were neither used nor returned, over all pods that live. */
  get expired(): number {
    return this.world.pods.reduce((sum, _, i) => sum + this.processOf(i).engine.prefetch.expired, 0);
  }

  /** Runs a task at an instant by `now`. */
  at(ms: number, task: () => void): void {
    this.world.scheduler.at((ms + BOOT_MS) * MS, task);
  }

  /** Lets so many milliseconds pass. */
  async run(ms: number): Promise<void> {
    const { scheduler } = this.world;
    const end = scheduler.now + ms * MS;
    scheduler.at(end, () => undefined); // the clock stops there, and not at the last event before it
    await this.world.run(end);
  }

  /** A request to one pod. */
  ask(pod: number, identity: string, cost = 1): void {
    this.world.pods[pod]!.request(identity, cost);
  }

  /** One pod forgets the states of the policies. Returns when it has done that. */
  async reset(pod: number, identity: string): Promise<void> {
    const { loop } = this.world.pods[pod]!;
    const answer = { isThere: false };
    const reset = async (): Promise<void> => {
      await this.processOf(pod).engine.reset(identity);
      answer.isThere = true;
    };
    loop.post(() => void reset());
    while (!answer.isThere) await this.run(0.1);
  }

  /** The tokens that are left of the first policy, as Redis has them. */
  remaining(identity: string): number {
    const { key, algorithm } = this.processOf(0).engine.charges(identity, 0)[0]!;
    return algorithm.remaining(algorithm.read(this.twin.stateOf(key), this.world.clock(), 0));
  }

  private processOf(pod: number): Process {
    return this.processes.get(this.world.pods[pod]!)!;
  }

  private start(pod: Pod): void {
    pod.boot(() => {
      const client = this.world.clientOf(pod, this.server);
      const engine = PodEngine.onRedis(client, this.policies, this.world.clock, this.world.settings);
      const process = new Process(engine);
      this.processes.set(pod, process);
      return process;
    });
  }

  private begin(): void {
    const { deathEvery, outage } = this.troubles;
    const { world, server } = this;
    const die = (i: number): void => {
      this.lost += this.processOf(i % world.pods.length).held;
      this.start(world.replacePod(i % world.pods.length));
      this.at(this.now + deathEvery!, () => die(i + 1));
    };
    if (deathEvery !== undefined) this.at(deathEvery, () => die(0));
    if (outage === undefined) return;
    this.at(outage.from, () => world.stopServer(server));
    this.at(outage.from + outage.lasts, () => server.start());
  }

  private readonly record = ({ allowed, at, by, cost, arrivedAt }: Answered): void => {
    this.decidedBy[by] = (this.decidedBy[by] ?? 0) + 1;
    // What a prefetch pays is admitted at once; what the store decides, when it decides.
    if (allowed) this.admissions.push({ at: by === 'store' ? at : Math.floor(arrivedAt), cost });
  };
}
