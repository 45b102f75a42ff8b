import { expect } from '@jest/globals';
import { type HttpApp, left } from '../../support/http-app.js';

export async function check(app: HttpApp): Promise<void> {
  expect(left(await app.send('/probe/estimates', { method: 'POST' }))).toBe(4);
}
