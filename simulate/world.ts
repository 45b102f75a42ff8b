import type { OwnedRedisClient } from '../libs/rate-limit/src/stores/redis/clients/redis-client.js';
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

/** The pods, the servers and the network of one simulation. */
export class World {
  readonly scheduler = new Scheduler();
  readonly servers: PlacedServer[] = [];
  readonly pods: readonly Pod[];
  /** Between the pods of a region and the servers of a region. */
  private readonly paths: readonly (readonly Path[])[];
  private readonly random: Random;
  private readonly globals: VirtualGlobals;
  private readonly clients: { lose(server: RedisServer): void }[] = [];

  /** @param record takes each request that was answered */
  constructor(
    readonly settings: Settings,
    record: (answered: Answered) => void,
  ) {
    const { seed, pods, regions, costs, network } = settings;
    this.random = new Random(seed);
    this.globals = new VirtualGlobals(this.scheduler, this.random.fork());
    this.paths = Array.from({ length: regions }, (_, from) =>
      Array.from({ length: regions }, (__, to) => new Path(from === to ? network.near : network.far)),
    );
    this.pods = Array.from({ length: pods }, (_, i) => {
      const loop = new EventLoop(this.scheduler, this.globals.enter);
      return new Pod(i % regions, loop, this.scheduler, costs.request, record);
    });
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
  clientOf(pod: Pod, server: RedisServer): OwnedRedisClient {
    const client = new SimulatedClient(this.connection(pod, server));
    this.clients.push(client);
    return client;
  }

  /** A client of a pod for a Cluster with these masters. */
  clusterClientOf(pod: Pod, masters: readonly RedisServer[]): OwnedRedisClient {
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

  private connection(pod: Pod, server: RedisServer): ConnectionSettings {
    const { scheduler, random, settings } = this;
    const { region } = this.servers.find((one) => one.server === server)!;
    const path = this.path(pod.region, region);
    return { scheduler, loop: pod.loop, server, path, random: random.fork(), costs: settings.costs.client };
  }
}
