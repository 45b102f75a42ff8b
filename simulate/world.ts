import type { OwnedClient } from '../libs/floodgate/src/stores/redis/clients/client.js';
import { Path } from './network/link.js';
import { type Answered, Pod } from './pods/pod.js';
import { SimulatedClient } from './redis/client.js';
import { SimulatedClusterClient } from './redis/cluster-client.js';
import type { ConnectionSettings } from './redis/connection.js';
import { ProgramTwin } from './redis/program-twin.js';
import { type Executor, RedisServer } from './redis/server.js';
import type { Settings } from './settings.js';
import { drive } from './time/drive.js';
import { EventLoop } from './time/event-loop.js';
import { Random } from './time/random.js';
import { Scheduler } from './time/scheduler.js';
import { BEGINNING, VirtualGlobals } from './time/virtual-globals.js';

/** A server and the region that it stands in. */
export interface PlacedServer {
  readonly server: RedisServer;
  readonly region: number;
}

/** Microseconds since the monotonic clock of a pod began, at most. */
const LONG_AGO = 1e9;

/** The pods, the servers and the network of one simulation. */
export class World {
  readonly scheduler = new Scheduler();
  readonly servers: PlacedServer[] = [];
  private readonly fleet: Pod[] = [];
  /** Between the pods of a region and the servers of a region. */
  private readonly paths: readonly (readonly Path[])[];
  private readonly random: Random;
  /** Draws the clocks of the pods, so that these change nothing else. */
  private readonly clocks: Random;
  private readonly globals: VirtualGlobals;
  private readonly clients: { lose(server: RedisServer): void }[] = [];

  /** @param record takes each request that was answered */
  constructor(
    readonly settings: Settings,
    private readonly record: (answered: Answered) => void,
  ) {
    const { seed, pods, regions, network } = settings;
    this.random = new Random(seed);
    this.clocks = new Random(seed ^ 0xc10c);
    this.globals = new VirtualGlobals(this.scheduler, this.random.fork());
    this.paths = Array.from({ length: regions }, (_, from) =>
      Array.from({ length: regions }, (__, to) => new Path(from === to ? network.near : network.far)),
    );
    for (let i = 0; i < pods; i++) this.fleet.push(this.newPod(i % regions));
  }

  get pods(): readonly Pod[] {
    return this.fleet;
  }

  /** Kills a pod as SIGKILL does, and puts a new process in its place, which has not been booted. */
  replacePod(i: number): Pod {
    const { region, loop } = this.fleet[i]!;
    loop.kill();
    return (this.fleet[i] = this.newPod(region));
  }

  /** The instant by the wall clock, which all machines share: whole microseconds since 1970. */
  readonly clock = (): number => BEGINNING + Math.floor(this.scheduler.now);

  /** Starts a server in a region. */
  addServer(region: number, executor: Executor = new ProgramTwin()): RedisServer {
    const server = new RedisServer(this.scheduler, executor, this.settings.costs.server);
    this.servers.push({ server, region });
    return server;
  }

  /** A client of a pod for a server. */
  clientOf(pod: Pod, server: RedisServer): SimulatedClient {
    const client = new SimulatedClient(this.connection(pod, server));
    this.clients.push(client);
    return client;
  }

  /** A client of a pod for a Cluster with these masters. */
  clusterClientOf(pod: Pod, masters: readonly RedisServer[]): OwnedClient {
    const client = new SimulatedClusterClient(masters.map((server) => this.connection(pod, server)));
    this.clients.push(client);
    return client;
  }

  /** The way from the pods of one region to the servers of another. */
  path(from: number, to: number): Path {
    return this.paths[from]![to]!;
  }

  /** A server is away for a while. It closes its connections at once. */
  stopServer(server: RedisServer): void {
    server.stop();
    for (const client of this.clients) client.lose(server);
  }

  /** Runs until `end`, in microseconds. */
  run(end: number): Promise<void> {
    return drive(this.scheduler, this.globals, end);
  }

  private newPod(region: number): Pod {
    const { scheduler, globals, clocks, settings } = this;
    const { drift = 0, costs } = settings;
    const [offset, fast] = drift === 0 ? [0, 0] : [clocks.next() * LONG_AGO, (2 * clocks.next() - 1) * drift];
    const loop = new EventLoop(scheduler, globals.enter, offset, fast);
    return new Pod(region, loop, scheduler, costs.request, this.record);
  }

  private connection(pod: Pod, server: RedisServer): ConnectionSettings {
    const { scheduler, random, settings } = this;
    const { region } = this.servers.find((one) => one.server === server)!;
    const path = this.path(pod.region, region);
    return { scheduler, loop: pod.loop, server, path, random: random.fork(), costs: settings.costs.client };
  }
}
