import { after, before, beforeEach, test } from 'node:test';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { expectLimit, overrideRateLimitStore, resetLimits, VirtualClock } from 'nestjs-floodgate/testing';
import { AppModule } from './app.module';

let app: INestApplication;

before(async () => {
  // The limits run on a virtual clock in the process: no Redis, and no test waits.
  const builder = overrideRateLimitStore(Test.createTestingModule({ imports: [AppModule] }), new VirtualClock());
  app = (await builder.compile()).createNestApplication();
});
beforeEach(() => resetLimits(app));
after(() => app.close());

test('an address searches 20 times at once, then 100 times an hour', async () => {
  await expectLimit(app).get('/search').toAdmit(20).perHour(100);
});

test('an account gets 5 guesses in 15 minutes', async () => {
  const login = expectLimit(app).post('/login');
  await login.body({ email: 'ada@example.com', password: 'wrong' }).answering(401).toAdmit(5).per('15m');
});
