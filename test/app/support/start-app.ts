import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { overrideRateLimitStore, VirtualClock } from 'nestjs-floodgate/testing';
import { AppModule } from '../../../src/app.module.js';
import { readConfiguration } from '../../../src/config/read-configuration.js';
import { STAGE_OPTIONS, type StageOptions } from '../../../demo/control-room/stage/stage.js';
import { RUN_TIMES } from '../../../demo/control-room/stage/surge-run.js';
import { Clock } from '../../../src/time/clock.js';

export interface Service {
  readonly app: INestApplication;
  readonly url: string;
  /** The application's clock. It advances only when a test sets it. */
  readonly clock: { ms: number };
  /** The clock of limits that are kept in this process. It stands still, too, so that nothing refills during a burst. */
  readonly limitsClock: VirtualClock;
}

/** The default of tests: matching takes no time, and there are no limits. */
export const QUICK = { MATCHING_SERVICE_MS: '0', RATE_LIMIT: 'off' };

/** Otherwise each viewer of a test would start two processes. test/app/surge-worlds.long.spec.ts has them. */
const NO_WORLDS: StageOptions = { times: RUN_TIMES, startsWithViewer: false, lingerMs: 0, idleMs: 600_000 };

/** A provider's token, and the value that takes its place. */
export type Override = readonly [token: unknown, value: object];

/**
 * Starts the whole application with its real configuration on a free port. Time stands still in it.
 *
 * @param configure called before the application listens
 */
export async function start(
  variables: Record<string, string> = {},
  overrides: readonly Override[] = [],
  configure?: (app: INestApplication) => void,
): Promise<Service> {
  const clock = { ms: Date.UTC(2024, 0, 1) };
  const builder = Test.createTestingModule({
    imports: [AppModule.forRoot(readConfiguration({ ...QUICK, ...variables }))],
  });
  const limitsClock = new VirtualClock();
  if (variables['RATE_LIMIT'] !== undefined && variables['REDIS_URL'] === undefined)
    overrideRateLimitStore(builder, limitsClock);
  const all: readonly Override[] = [[Clock, { now: () => clock.ms }], [STAGE_OPTIONS, NO_WORLDS], ...overrides];
  for (const [token, value] of all) builder.overrideProvider(token).useValue(value);
  const module = await builder.compile();
  const app = module.createNestApplication({ logger: ['fatal', 'error', 'warn'] });
  configure?.(app);
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl(), clock, limitsClock };
}
