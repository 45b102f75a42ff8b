import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { readConfiguration } from '../../../src/config/read-configuration.js';
import { MatchingServiceModule } from '../../../src/matching/service/matching-service.module.js';
import { Clock } from '../../../src/time/clock.js';
import { QUICK } from './start-app.js';

export interface MatchingService {
  readonly app: INestApplication;
  readonly url: string;
}

/** Starts the matching service with its real configuration on a free port. */
export async function startMatching(
  variables: Record<string, string> = {},
  clock: { ms: number } = { ms: Date.UTC(2024, 0, 1) },
  port = 0,
): Promise<MatchingService> {
  const module = await Test.createTestingModule({
    imports: [MatchingServiceModule.forRoot(readConfiguration({ ...QUICK, ...variables }))],
  })
    .overrideProvider(Clock)
    .useValue({ now: () => clock.ms })
    .compile();
  const app = module.createNestApplication({ logger: ['fatal', 'error', 'warn'] });
  await app.listen(port, '127.0.0.1');
  return { app, url: await app.getUrl() };
}
