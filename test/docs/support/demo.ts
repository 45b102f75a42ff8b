import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { AppModule } from '../../../src/app.module.js';
import { readConfiguration } from '../../../src/config/read-configuration.js';

const INSTANCES = 3;
const ATTEMPTS = 20;
/** The page's commands read it from their environment. */
const ADMIN_TOKEN = 'a-token-for-the-commands-of-the-page';

/** Three instances of the ride-hailing application on one Redis, on neighbouring ports, the first of which ends in 0. */
export class Demo {
  private constructor(
    readonly port: number,
    private readonly apps: readonly INestApplication[],
  ) {}

  static async start(redisUrl: string): Promise<Demo> {
    process.env.ADMIN_TOKEN = ADMIN_TOKEN;
    const apps: INestApplication[] = [];
    for (let i = 0; i < INSTANCES; i++) {
      const configuration = readConfiguration({
        MATCHING_SERVICE_MS: '0',
        TRIP_SECONDS: '1',
        REDIS_URL: redisUrl,
        ADMIN_TOKEN,
      });
      const module = await Test.createTestingModule({ imports: [AppModule.forRoot(configuration)] }).compile();
      apps.push(module.createNestApplication({ logger: ['fatal', 'error'] }));
    }
    for (let attempt = 1; ; attempt++) {
      const port = 10 * (2_000 + attempt);
      try {
        for (const [i, app] of apps.entries()) await app.listen(port + i, '127.0.0.1');
        return new Demo(port, apps);
      } catch (error) {
        if (attempt === ATTEMPTS) throw error;
      }
    }
  }

  async close(): Promise<void> {
    for (const app of this.apps) await app.close();
  }
}
