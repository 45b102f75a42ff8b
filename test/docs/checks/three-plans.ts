import { expect } from '@jest/globals';
import type { HttpApp } from '../../support/http-app.js';

export async function check(app: HttpApp): Promise<void> {
  const limits = [];
  for (const user of ['ada', 'bob', 'eve']) limits.push((await app.as(user, '/reports')).headers['x-ratelimit-limit']);
  expect(limits).toEqual(['100', '1000', '10']);
}
