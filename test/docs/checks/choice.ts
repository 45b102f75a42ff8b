import { expect } from '@jest/globals';
import type { HttpApp } from '../../support/http-app.js';

export async function check(app: HttpApp): Promise<void> {
  expect((await app.send('/probe/search')).headers['x-ratelimit-limit']).toBe('10');
}
