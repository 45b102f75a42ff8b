import { RateLimitConfigError, shown } from '../../../util/config-error.js';

const WHERE = 'RateLimitModule, redis';

/** Options that say where the server is. */
const SERVERS = ['host', 'path', 'sentinels', 'Connector'];

/** Options of other clients, each with the way to say the same here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  url: "give the URL itself, redis: 'redis://host:6379'",
  uri: "give the URL itself, redis: 'redis://host:6379'",
  socket: 'socket belongs to node-redis; give host and port, or its client, redis: createClient({ socket })',
  database: 'database belongs to node-redis; give db, or its client, redis: createClient({ database })',
  nodes: 'for a Cluster, give a client: redis: new Cluster(nodes)',
  rootNodes: 'for a Cluster, give a client: redis: createCluster({ rootNodes })',
  sentinelRootNodes: 'for Sentinels of node-redis, give a client: redis: createSentinel(options)',
  startupNodes: 'for a Cluster, give a client: redis: new Cluster(nodes)',
};

/**
 * Checks where ioredis options lead. ioredis ignores a name that it does not know, and connects to localhost.
 *
 * @throws {RateLimitConfigError} for options that name no server, and for a host or a port that cannot be one
 */
export function checkIoredisOptions(options: object): void {
  const names = Object.keys(options);
  const foreign = names.find((name) => Object.hasOwn(ELSEWHERE, name));
  if (foreign !== undefined) {
    throw unknown(`${shown(foreign)} is not an option of ioredis: ${ELSEWHERE[foreign]}`);
  }
  if (!names.some((name) => SERVERS.includes(name))) {
    const got = names.length === 0 ? 'none' : names.map(shown).join(', ');
    throw unknown(`no option names the server: give host, path or sentinels, as in { host: 'localhost' }, got ${got}`);
  }
  const { host, port } = options as { readonly host?: unknown; readonly port?: unknown };
  if (host !== undefined && host !== null && typeof host !== 'string') fail('host', 'a text, such as localhost', host);
  if (port !== undefined && port !== null && !isPort(port)) fail('port', 'a whole number from 1 to 65535', port);
}

/** A variable of the environment is a text. */
function isPort(port: unknown): boolean {
  const number = typeof port === 'string' && /^\d+$/.test(port) ? Number(port) : port;
  return Number.isSafeInteger(number) && (number as number) >= 1 && (number as number) <= 65_535;
}

function fail(name: string, wanted: string, got: unknown): never {
  throw new RateLimitConfigError(WHERE, `${name} must be ${wanted}, got ${shown(got)}`);
}

function unknown(problem: string): RateLimitConfigError {
  return new RateLimitConfigError(WHERE, problem, 'FG_UNKNOWN_OPTION');
}
