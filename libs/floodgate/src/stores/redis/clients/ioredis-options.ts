import { RateLimitConfigError, shown } from '../../../util/config-error.js';
import { nearestName } from '../../../util/nearest-name.js';

/**
 * The options of ioredis 5.4.2 (`RedisOptions`; a test compares the two). ioredis has no list of them at run time: its defaults
 * lack the options that have none, such as `tls`.
 */
export const IOREDIS_OPTIONS = [
  'Connector',
  'autoPipeliningIgnoredCommands',
  'autoResendUnfulfilledCommands',
  'autoResubscribe',
  'commandQueue',
  'commandTimeout',
  'connectTimeout',
  'connectionName',
  'db',
  'disconnectTimeout',
  'enableAutoPipelining',
  'enableOfflineQueue',
  'enableReadyCheck',
  'enableTLSForSentinelMode',
  'failoverDetector',
  'family',
  'host',
  'keepAlive',
  'keyPrefix',
  'lazyConnect',
  'maxLoadingRetryTime',
  'maxRetriesPerRequest',
  'monitor',
  'name',
  'natMap',
  'noDelay',
  'offlineQueue',
  'password',
  'path',
  'port',
  'preferredSlaves',
  'readOnly',
  'reconnectOnError',
  'retryStrategy',
  'role',
  'scripts',
  'sentinelCommandTimeout',
  'sentinelMaxConnections',
  'sentinelPassword',
  'sentinelReconnectStrategy',
  'sentinelRetryStrategy',
  'sentinelTLS',
  'sentinelUsername',
  'sentinels',
  'showFriendlyErrorStack',
  'socketTimeout',
  'stringNumbers',
  'tls',
  'updateSentinels',
  'username',
] as const;

/** Later options of ioredis, each with one that has a default in every version that has both. */
export const LATER_OPTIONS = {
  blockingTimeout: 'blockingTimeoutGrace',
  blockingTimeoutGrace: 'blockingTimeoutGrace',
  clientInfoTag: 'clientInfoTag',
  disableClientInfo: 'disableClientInfo',
  himportFieldsets: 'himportFieldsets',
  protocol: 'protocol',
  replyMapping: 'replyMapping',
} as const;

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
 * Checks the names of ioredis options, and where they lead. ioredis ignores a name that it does not know, and connects to localhost.
 *
 * @param defaults the options of a client without options: an ioredis newer than the lists may know more names
 * @param where how errors begin
 * @throws {RateLimitConfigError} that suggests the nearest name, or a newer ioredis; for a host or a port that cannot be one
 */
export function checkIoredisOptions(options: object, defaults: object, where: string): void {
  const installed = Object.entries(LATER_OPTIONS).filter(([, sign]) => sign in defaults);
  const known = new Set<string>([...IOREDIS_OPTIONS, ...installed.map(([name]) => name), ...Object.keys(defaults)]);
  for (const name of Object.keys(options)) {
    if (known.has(name)) continue;
    throw new RateLimitConfigError(where, `${shown(name)} ${problemOf(name, known)}`, 'FG_UNKNOWN_OPTION');
  }
  const fail = (name: string, wanted: string, got: unknown): never => {
    throw new RateLimitConfigError(where, `${name} must be ${wanted}, got ${shown(got)}`);
  };
  const { host, port } = options as { readonly host?: unknown; readonly port?: unknown };
  if (host !== undefined && host !== null && typeof host !== 'string') fail('host', 'a text, such as localhost', host);
  if (port !== undefined && port !== null && !isPort(port)) fail('port', 'a whole number from 1 to 65535', port);
}

/** A variable of the environment is a text. */
function isPort(port: unknown): boolean {
  const number = typeof port === 'string' && /^\d+$/.test(port) ? Number(port) : port;
  return Number.isSafeInteger(number) && (number as number) >= 1 && (number as number) <= 65_535;
}

function problemOf(name: string, known: Iterable<string>): string {
  if (Object.hasOwn(LATER_OPTIONS, name)) {
    return 'is an option of a newer ioredis than the installed one: npm install ioredis@latest';
  }
  const nearest = nearestName(name, known);
  const advice = ELSEWHERE[name] ?? (nearest === undefined ? undefined : `did you mean ${nearest}?`);
  return `is not an option of ioredis${advice === undefined ? '' : `: ${advice}`}`;
}
