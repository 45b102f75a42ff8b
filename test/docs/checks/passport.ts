import { expect } from '@jest/globals';
import type { HttpApp } from '../../support/http-app.js';

export async function check(app: HttpApp): Promise<void> {
  expect((await app.send('/rides')).status).toBe(401);
  const { status, headers } = await app.send('/rides', { headers: { Authorization: 'ada' } });
  expect([status, headers['x-ratelimit-limit']]).toEqual([200, '20']);
}
