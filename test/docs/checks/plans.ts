import { expect } from '@jest/globals';
import type { HttpApp } from '../../support/http-app.js';

export async function check(app: HttpApp): Promise<void> {
  const { headers } = await app.send('/', { headers: { 'X-API-Key': 'key-1' } });
  expect([headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']]).toEqual(['1000', '999']);
}
