/**
 * The stable codes of errors and warnings. Each is the heading of a section in docs/errors.md, and a test compares
 * the two. A code is never renamed and never used for anything else: links to it stand in logs, tickets and runbooks.
 */
export const ERROR_CODES = [
  // Errors that stop the boot.
  'FG_CONFIGURATION',
  'FG_INVALID_OPTION',
  'FG_UNKNOWN_OPTION',
  'FG_OPTION_WITHOUT_EFFECT',
  'FG_MODULE_IMPORT',
  'FG_MISSING_PACKAGE',
  'FG_DECORATOR',
  'FG_INVALID_POLICY',
  'FG_UNKNOWN_POLICY',
  'FG_POLICY_NAME',
  'FG_POLICIES_TOGETHER',
  'FG_SHARED_STATE',
  'FG_KEY_TOO_LONG',
  'FG_METRIC_NAME',
  'FG_IDENTITY_REQUIRED',
  'FG_INVALID_IDENTITY',
  'FG_ADMIN_GUARD',
  'FG_REDIS_DATABASE',
  'FG_REDIS_REQUIRED',
  // Warnings at boot.
  'FG_NOT_LIMITED',
  'FG_NO_RESOLVER',
  'FG_TRUST_PROXY',
  'FG_REDIS_OPTION_IGNORED',
  'FG_QUEUE_TOO_LONG',
  'FG_CORS',
  'FG_POLICY_NUMBERS',
  'FG_NO_METER_PROVIDER',
  // Warnings at run time.
  'FG_IDENTITY_LATE',
  'FG_FORWARDED_HEADER',
  'FG_STORE_UNAVAILABLE',
  'FG_FUNCTION_FAILED',
  'FG_REDIS_EVICTS',
  'FG_CLOCKS_DIFFER',
  'FG_SHARDS_UNEVEN',
  'FG_CLUSTER_BY_SLOT',
  'FG_OVERRIDES_UNKNOWN',
  'FG_LEASE_ENDED',
  'FG_RESERVATION_LOG',
  'FG_LOAD_SHED',
  'FG_PAUSE_NOT_SHARED',
  // Errors at run time.
  'FG_RESERVATION_CLOSED',
  'FG_RESERVATIONS_FULL',
  'FG_CALL_WAIT',
  'FG_CALL_QUEUE_FULL',
  'FG_CALL_NEVER_FITS',
  'FG_UNKNOWN_ROUTE',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

/** The site that messages lead to: `homepage` of package.json, as a test compares. */
export const SITE = 'https://floodgate-nest.github.io/floodgate/';

/** A message, and behind it the link to the section of its code. */
export function withHelp(message: string, code: ErrorCode): string {
  return `${message} (see ${SITE}errors#${code.toLowerCase()})`;
}
