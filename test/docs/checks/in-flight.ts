import { expect } from '@jest/globals';
import type { HttpApp } from '../../support/http-app.js';

export async function check(app: HttpApp): Promise<void> {
  expect(await app.crowd(5, '/probe/exports')).toEqual({ 200: 3, 429: 2 });
}
