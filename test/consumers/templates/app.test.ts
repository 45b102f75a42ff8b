import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { expectLimit, overrideRateLimitStore, VirtualClock } from 'nestjs-floodgate/testing';
import request from 'supertest';
import { AppModule } from './app.module.js';

describe('a burst', () => {
  let app: INestApplication;

  beforeAll(async () => {
    const testing = await Test.createTestingModule({ imports: [AppModule] }).compile();
    app = testing.createNestApplication();
    await app.init();
  });

  afterAll(async () => {
    await app.close();
  });

  it('gets 20 answers and then a 429', async () => {
    const statuses: number[] = [];
    for (let i = 0; i < 21; i++) statuses.push((await request(app.getHttpServer()).get('/burst')).status);
    expect(statuses).toEqual([...Array.from({ length: 20 }, () => 200), 429]);
  });
});

describe('the limit on a virtual clock', () => {
  it('is a burst of 20, and one more an hour', async () => {
    const builder = overrideRateLimitStore(Test.createTestingModule({ imports: [AppModule] }), new VirtualClock());
    const app: INestApplication = (await builder.compile()).createNestApplication();
    try {
      await expectLimit(app).get('/burst').toAdmit(20).perHour(1);
    } finally {
      await app.close();
    }
  });
});
