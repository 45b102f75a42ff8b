import { expect } from '@jest/globals';
import type { HttpApp } from '../../support/http-app.js';
import { post } from '../support/serve.js';

export async function check(app: HttpApp): Promise<void> {
  const invite = (): Promise<Response> => post(app, '/probe/invitations', { userId: 'ada' });
  expect([(await invite()).status, (await invite()).status]).toEqual([201, 201]);
  const rejected = await invite();
  expect(rejected.status).toBe(429);
  expect(rejected.headers.get('x-ratelimit-limit')).toBe('2');
  expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0);
}
