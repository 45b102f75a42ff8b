import { strictEqual } from 'node:assert';
import type { RateLimitStore } from 'nestjs-floodgate';
import { describeRateLimitStore, expectLimit, type TestFramework } from 'nestjs-floodgate/testing';
import { MemoryStore } from '../../../libs/floodgate/src/stores/memory/memory.store.js';
import { openApp } from '../support/limited-app.js';

/** The tests of an application, for the `describe` and `test` of any framework. `WRONG_LIMIT` in the environment makes one fail. */
export function limitTests(framework: TestFramework): void {
  framework.describe('the limits of an application', () => {
    framework.test('a burst of 20, then 10 per second', async () => {
      const { app } = await openApp('Express');
      try {
        const burst = process.env.WRONG_LIMIT === undefined ? 20 : 21;
        await expectLimit(app).get('/bucket').as({ user: 'ada' }).toAdmit(burst).perSecond(10);
      } finally {
        await app.close();
      }
    });

    framework.test('a queue, without real time', async () => {
      const { app, clock } = await openApp('Fastify');
      try {
        const route = expectLimit(app).get('/leaky').as({ user: 'ada' });
        strictEqual((await route.send()).status, 200);
        const delayed = route.send();
        await clock.untilWaiting();
        clock.advance('100ms');
        strictEqual((await delayed).status, 200);
      } finally {
        await app.close();
      }
    });
  });

  describeRateLimitStore(
    { name: 'the store', open: (settings): RateLimitStore => new MemoryStore(settings) },
    framework,
  );
}
