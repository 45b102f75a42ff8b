import type { INestApplication } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { AppModule } from '../../../src/app.module.js';
import { readConfiguration } from '../../../src/config/read-configuration.js';
import { Clock } from '../../../src/time/clock.js';

export type Platform = 'Express' | 'Fastify';

export const PLATFORMS: readonly Platform[] = ['Express', 'Fastify'];

export interface Service {
  readonly app: INestApplication;
  readonly url: string;
  /** The application's clock. It advances only when a test sets it. */
  readonly clock: { ms: number };
}

/** The default of tests: matching takes no time, and there are no limits. */
export const QUICK = { MATCHING_SERVICE_MS: '0', RATE_LIMIT: 'off' };

/** Starts the whole application with its real configuration on a free port. */
export async function start(platform: Platform, variables: Record<string, string> = {}): Promise<Service> {
  const clock = { ms: Date.UTC(2024, 0, 1) };
  const module = await Test.createTestingModule({
    imports: [AppModule.forRoot(readConfiguration({ ...QUICK, ...variables }))],
  })
    .overrideProvider(Clock)
    .useValue({ now: () => clock.ms })
    .compile();
  const adapter = platform === 'Express' ? new ExpressAdapter() : new FastifyAdapter();
  const app = module.createNestApplication(adapter, { logger: ['fatal', 'error', 'warn'] });
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl(), clock };
}
