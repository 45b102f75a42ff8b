import 'reflect-metadata';
import { Controller, Get } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { apiKeyIdentity, RateLimit, RateLimitModule, type RateLimitRequest } from 'nestjs-floodgate';
import type { Adapter } from '../adapter.js';
import { overHttp } from '../over-http.js';
import floodgate from './floodgate.js';

// A bucket admits its burst beside what is refilled.
const { interval: _, ...offers } = floodgate.offers;
const WHILE_IN_TIME =
  'README, while Redis answers within 50 ms. When it does not, each process goes on alone: docs/failures.md';

export default {
  name: 'Floodgate (guard)',
  packages: ['nestjs-floodgate', '@nestjs/core', 'ioredis'],
  definition: 'bucket',
  note: 'With its defaults: when Redis is late by 50 ms, each process goes on alone. On a machine with 13 processes for 2 cores the trial has broken `shared` by that in some runs.',
  retryAfterUnitMs: 1_000,
  offers: { ...offers, limit: WHILE_IN_TIME, shared: WHILE_IN_TIME },
  create: async ({ redisUrl, limits }) => {
    const cost = ({ headers }: RateLimitRequest): number => Number(headers['x-cost']);
    const [first, ...others] = limits.map(({ limit, windowMs }, i) => {
      const refill = `${limit}/${windowMs}ms` as const;
      return { name: `limit-${i}`, algorithm: 'token-bucket' as const, capacity: limit, refill, cost };
    });
    @Controller()
    class Routes {
      @Get()
      @RateLimit(first!, ...others)
      get(): void {}
    }
    const identity = [apiKeyIdentity({ header: 'x-client' })];
    const imports = [RateLimitModule.forRoot({ redis: redisUrl, identity })];
    const app = await NestFactory.create({ module: class App {}, imports, controllers: [Routes] });
    return overHttp(await app.listen(0, '127.0.0.1'));
  },
} satisfies Adapter as Adapter;
