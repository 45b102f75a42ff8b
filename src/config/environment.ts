import { isIP } from 'node:net';
import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { ValidateBy, type ValidationArguments } from 'class-validator';
import { hostName } from './host-name.js';

/** The address for `BIND` that means all addresses of the machine. */
export const ALL_ADDRESSES = '*';

/** `riders` leaves out the limit that protects the matching service. */
export const RATE_LIMIT_MODES = ['on', 'riders', 'off'] as const;

/** `watch`: the page shows the process but changes nothing; `off`: the process serves no page. */
export const CONTROL_ROOM_MODES = ['on', 'watch', 'off'] as const;

export const SWITCH = ['on', 'off'] as const;

/** The schema of the environment variables: name, type, default and range. docs/demo.md explains those for operators. */
export class Environment {
  NODE_ENV?: string = undefined;

  /** Default: 3000 for the application, 4000 for the matching service. */
  @IsWhole(0, 65_535) PORT?: number = undefined;
  /** The default is this machine alone, since neither the API nor the control room asks for a password. */
  @IsAddress([ALL_ADDRESSES, 'localhost']) BIND: string = '127.0.0.1';

  // Longer than a full queue of matching takes, 5 s, and shorter than the grace period of an orchestrator (deploy/kubernetes).
  @IsBetween(0, 3600) SHUTDOWN_GRACE_SECONDS: number = 8;
  @IsBetween(0.1, 3600) HEADERS_TIMEOUT_SECONDS: number = 10;
  @IsBetween(0.1, 3600) REQUEST_TIMEOUT_SECONDS: number = 30;

  @IsUrlOf('redis:', 'rediss:') REDIS_URL?: string = undefined;
  /** Default: an empty database in the process. */
  @IsUrlOf('postgres:', 'postgresql:') DATABASE_URL?: string = undefined;
  @IsOneOf(RATE_LIMIT_MODES) RATE_LIMIT: (typeof RATE_LIMIT_MODES)[number] = 'on';
  /** Whether a process that cannot keep up rejects requests that can wait. */
  @IsOneOf(SWITCH) SHED_LOAD: (typeof SWITCH)[number] = 'off';
  @IsWhole(1, 10_000) PODS: number = 1;

  /** Without it nobody can change limits at run time. */
  @IsToken() ADMIN_TOKEN?: string = undefined;

  /** Default: `on`, and `watch` in production. A visitor of a production page must not start a surge by accident. */
  @IsOneOf(CONTROL_ROOM_MODES) CONTROL_ROOM?: (typeof CONTROL_ROOM_MODES)[number] = undefined;
  /** Default: `on`, and `off` in production: a process there serves no more than clients need. */
  @IsOneOf(SWITCH) API_DOCS?: (typeof SWITCH)[number] = undefined;
  @IsHostList() CONTROL_ROOM_HOSTS: readonly string[] = [];

  // Two thirds of what matching holds: apart from a burst its queue stays empty, and a backlog drains.
  @IsBetween(0.001, 1_000_000) MATCHING_LIMIT: number = 100;
  /** Enough for a few riders at once: one rider alone may send 20 requests. */
  @IsWhole(1, 1_000_000) MATCHING_BURST: number = 60;
  @IsUrlOf('http:', 'https:') MATCHING_URL?: string = undefined;
  /** Default: `PORT`, which some platforms set for every process. */
  @IsWhole(0, 65_535) MATCHING_PORT?: number = undefined;
  // 6 workers of 40 ms hold 150 requests per second.
  @IsWhole(1, 10_000) MATCHING_WORKERS: number = 6;
  @IsWhole(0, 60_000) MATCHING_SERVICE_MS: number = 40;
  // A long queue and a long patience, as untuned services have them.
  @IsWhole(0, 1_000_000) MATCHING_QUEUE: number = 750;
  @IsWhole(1, 600_000) MATCHING_PATIENCE_MS: number = 30_000;
  /** Whether the work for riders who have left is dropped. */
  @IsOneOf(SWITCH) MATCHING_CANCEL: (typeof SWITCH)[number] = 'off';
  /** Whether a long queue serves the newest request first and gives up on the oldest. */
  @IsOneOf(SWITCH) MATCHING_NEWEST_FIRST: (typeof SWITCH)[number] = 'off';
  @IsBetween(0.1, 50) MATCHING_RADIUS_KM: number = 5;

  @IsWhole(0, 100_000) DRIVERS_SEEDED: number = 500;
  @IsWhole(1, 10_000_000) DRIVERS_MAX: number = 100_000;
  @IsWhole(1, 86_400) DRIVER_TIMEOUT_SECONDS: number = 60;

  @IsBetween(0.001, 86_400) TRIP_SECONDS: number = 30;
  @IsWhole(1, 10_000_000) TRIPS_KEPT: number = 50_000;
  @IsWhole(1, 10_000) TRIPS_KEPT_PER_RIDER: number = 100;
}

/** A whole number from `min` to `max`, without sign, point or exponent. */
function IsWhole(min: number, max: number): PropertyDecorator {
  return IsNumeric(/^\d+$/, min, max, `a whole number from ${min} to ${max}`);
}

/** A decimal number from `min` to `max`, without sign or exponent. */
function IsBetween(min: number, max: number): PropertyDecorator {
  return IsNumeric(/^\d+(\.\d+)?$/, min, max, `a number from ${min} to ${max}`);
}

/** Text that is no number stays text, so that the error quotes it. */
function IsNumeric(form: RegExp, min: number, max: number, expected: string): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }: { value: unknown }) =>
      typeof value === 'string' && form.test(value) ? Number(value) : value,
    ),
    IsValid('isNumeric', (value) => typeof value === 'number' && value >= min && value <= max, expected),
  );
}

function IsOneOf(choices: readonly string[]): PropertyDecorator {
  const words = choices.map((choice) => `"${choice}"`);
  const expected = `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
  return IsValid('isOneOf', (value) => choices.includes(value as string), expected);
}

function IsUrlOf(...protocols: readonly string[]): PropertyDecorator {
  return IsValid(
    'isUrlOf',
    (value) => URL.canParse(value as string) && protocols.includes(new URL(value as string).protocol),
    `a URL that starts with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  );
}

/** What a client can send behind `Bearer` (RFC 6750, section 2.1), and nobody can guess. */
function IsToken(): PropertyDecorator {
  return IsValid(
    'isToken',
    (value) => /^[\w.~+/-]{16,}=*$/.test(value as string),
    'at least 16 letters, digits or any of -._~+/, as `openssl rand -hex 24` prints them',
    () => '***',
  );
}

function IsAddress(words: readonly string[]): PropertyDecorator {
  const expected = `an IP address or ${words.map((word) => `"${word}"`).join(' or ')}`;
  return IsValid('isAddress', (value) => words.includes(value as string) || isIP(value as string) !== 0, expected);
}

/** Host names without ports, separated by commas. */
function IsHostList(): PropertyDecorator {
  const wrong = (hosts: unknown): string | undefined => (hosts as string[]).find((host) => hostOf(host) === undefined);
  return applyDecorators(
    Transform(({ value }: { value: string }) =>
      value
        .split(',')
        .map((host) => host.trim())
        .filter((host) => host !== '')
        .map((host) => hostOf(host) ?? host),
    ),
    IsValid(
      'isHostList',
      (hosts) => wrong(hosts) === undefined,
      'host names without ports, separated by commas',
      wrong,
    ),
  );
}

function hostOf(text: string): string | undefined {
  return /:\d+$/.test(text) && !text.endsWith(']') ? undefined : hostName(text);
}

/** The error message is the line for the operator: name, given value, expected value. An absent variable is valid. */
function IsValid(
  name: string,
  isValid: (value: unknown) => boolean,
  expected: string,
  given: (value: unknown) => unknown = (value) => value,
): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value: unknown) => value === undefined || isValid(value),
      defaultMessage: (args?: ValidationArguments) =>
        `${args!.property} is ${quoted(given(args!.value))}, expected ${expected}`,
    },
  });
}

/** A value may be a URL with a password, and boot errors end up in logs. */
function quoted(value: unknown): string {
  // Up to the last @, since a password may contain a slash or an @ that is not encoded.
  const masked = String(value)
    .replace(/^(\w+:\/\/)?.*[:/].*@/s, '$1***@')
    .replace(/(password=)[^&\s]*/gi, '$1***');
  return JSON.stringify(masked);
}
