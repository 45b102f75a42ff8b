import { expect } from '@jest/globals';
import type { HttpApp } from '../../support/http-app.js';
import { post } from '../support/serve.js';

export async function check(app: HttpApp): Promise<void> {
  const left = async (rows: unknown): Promise<string | null> =>
    (await post(app, '/probe/exports', { rows })).headers.get('x-ratelimit-remaining');
  expect([await left(400), await left('none'), await left(0.5)]).toEqual(['600', '599', '598']);
  for (const rows of [900, 1e300]) expect((await post(app, '/probe/exports', { rows })).status).toBe(429);
  expect(app.logs.of('error')).toEqual([]);
}
