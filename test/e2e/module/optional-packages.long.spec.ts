import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const LOADERS = ['typescript-loader', 'absent-package'].flatMap((loader) => [
  '--import',
  `./test/support/${loader}.js`,
]);

/** The link behind the message. */
const HELP = / \(see https:.*#fg_(?:missing_package|unknown_option)\)$/;

/** Boots an application with these imports and without this package, and returns its output. */
async function boot(imports: string, absent: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...LOADERS, './test/support/optional-packages.ts', imports],
    { env: { ...process.env, ABSENT_PACKAGE: absent } },
  );
  return stdout.trim();
}

const RUNS = 'allowed: true';
const ALL = 'prom-client,@opentelemetry/api,@nestjs/swagger,ioredis,redis';
const METRICS =
  'RateLimitConfigError: RateLimitMetricsModule: needs the package prom-client, which is not installed: npm install "prom-client@^15.0.0"';

it.each([
  ['nothing', ALL, RUNS],
  ['admin', ALL, RUNS],
  ['metrics', '@opentelemetry/api,ioredis,redis', RUNS],
  ['opentelemetry', 'prom-client', RUNS],
  ['redis', 'ioredis', RUNS], // nothing listens there: the process decides
  ['metrics', 'prom-client', METRICS],
  [
    'spans',
    '@opentelemetry/api',
    'RateLimitConfigError: RateLimitMetricsModule: needs the package @opentelemetry/api, which is not installed: npm install "@opentelemetry/api@^1.9.0"',
  ],
  [
    'redis',
    'ioredis,redis',
    'RateLimitConfigError: RateLimitModule, redis: a URL needs the package ioredis or redis, and neither is installed: npm install ' +
      '"ioredis@^5.4.2 || ^6.0.0" or npm install "redis@^5.0.0 || ^6.0.0"',
  ],
  [
    'redisOptions',
    'ioredis',
    'RateLimitConfigError: RateLimitModule, redis: options in the place of a URL or a client are for ioredis, which is not installed: npm ' +
      'install "ioredis@^5.4.2 || ^6.0.0"; or, with the package redis, give redis: createClient(options), whose options are those of node-redis, ' +
      'such as { url }',
  ],
])('an application that imports %s, without %s, prints: %s', async (imports, absent, printed) => {
  expect((await boot(imports, absent)).replace(HELP, '')).toBe(printed);
});
