import { after, before, beforeEach, test } from 'node:test';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { expectLimit, overrideRateLimitStore, resetLimits, VirtualClock } from 'nestjs-floodgate/testing';
import { AppModule } from './app.module.js';

let app: NestFastifyApplication;

before(async () => {
  // The limits run on a virtual clock in the process: no Redis, and no test waits.
  const builder = overrideRateLimitStore(Test.createTestingModule({ imports: [AppModule] }), new VirtualClock());
  app = (await builder.compile()).createNestApplication<NestFastifyApplication>(new FastifyAdapter());
});
beforeEach(() => resetLimits(app));
after(() => app.close());

const reports = () => expectLimit(app).get('/reports');

test('a client without a plan gets 5 reports at once, then one a second', async () => {
  await reports().headers({ 'x-api-key': 'key-of-bob' }).toAdmit(5).perSecond(1);
});

test('a client with the plan pro gets 50 reports at once, then 10 a second', async () => {
  await reports().headers({ 'x-api-key': 'key-of-ada' }).toAdmit(50).perSecond(10);
});

test('invented keys share the limit of their address', async () => {
  for (let i = 0; i < 5; i++)
    await reports()
      .headers({ 'x-api-key': `invented-${i}` })
      .send();
  await reports().toAdmit(0);
});

test('21 invoices are taken, one now and 20 that wait', async () => {
  await expectLimit(app).post('/invoices').toAdmit(21).perSecond(10);
});
