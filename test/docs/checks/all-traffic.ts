import { expect } from '@jest/globals';
import type { HttpApp } from '../../support/http-app.js';

export async function check(app: HttpApp): Promise<void> {
  const { status, headers } = await app.send('/no-such-route');
  expect([status, headers['x-ratelimit-limit']]).toEqual([404, '200']);
}
