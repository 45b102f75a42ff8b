import { setTimeout as delay } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import type { HttpApp } from '../../support/http-app.js';

export async function check({ app }: HttpApp): Promise<void> {
  const limiter = app.get(RateLimiter);
  const ada = { kind: 'user', value: 'ada' };
  await until('the store decides', 20_000, async () => (await limiter.peek('exports', ada)).decidedBy === 'store');
  for (let i = 0; i < 4; i++) expect((await limiter.consume('exports', ada)).allowed).toBe(true);
  await delay(200); // the page's function prints the event
}
