import { RateLimitConfigError, shown } from '../../util/config-error.js';
import { nearestName } from '../../util/nearest-name.js';

/**
 * The options of ioredis 6 (`RedisOptions`; a test compares the two). ioredis has no list of them at run time: its defaults
 * lack the options that have none, such as `tls`.
 */
export const IOREDIS_OPTIONS = [
  'Connector',
  'autoPipeliningIgnoredCommands',
  'autoResendUnfulfilledCommands',
  'autoResubscribe',
  'blockingTimeout',
  'blockingTimeoutGrace',
  'clientInfoTag',
  'commandQueue',
  'commandTimeout',
  'connectTimeout',
  'connectionName',
  'db',
  'disableClientInfo',
  'disconnectTimeout',
  'enableAutoPipelining',
  'enableOfflineQueue',
  'enableReadyCheck',
  'enableTLSForSentinelMode',
  'failoverDetector',
  'family',
  'himportFieldsets',
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
  'protocol',
  'readOnly',
  'reconnectOnError',
  'replyMapping',
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

/** Options of other clients, each with the way to say the same here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  url: "give the URL itself, redis: 'redis://host:6379'",
  uri: "give the URL itself, redis: 'redis://host:6379'",
  socket: 'socket belongs to node-redis; give host and port, redis: { host, port }',
  database: 'database belongs to node-redis; give db',
  nodes: 'for a Cluster, give a client: redis: new Cluster(nodes)',
  rootNodes: 'for a Cluster, give a client: redis: new Cluster(nodes)',
  startupNodes: 'for a Cluster, give a client: redis: new Cluster(nodes)',
};

/**
 * Checks the names of ioredis options. ioredis ignores a name that it does not know, and connects to localhost.
 *
 * @param defaults the options of a client without options: an ioredis newer than the list may know more names
 * @throws {RateLimitConfigError} that suggests the nearest name
 */
export function checkIoredisOptions(options: object, defaults: object): void {
  const known = new Set<string>([...IOREDIS_OPTIONS, ...Object.keys(defaults)]);
  for (const name of Object.keys(options)) {
    if (known.has(name)) continue;
    const nearest = nearestName(name, known);
    const advice = ELSEWHERE[name] ?? (nearest === undefined ? undefined : `did you mean ${nearest}?`);
    throw new RateLimitConfigError(
      'RateLimitModule, redis',
      `${shown(name)} is not an option of ioredis${advice === undefined ? '' : `: ${advice}`}`,
      'FG_UNKNOWN_OPTION',
    );
  }
}
