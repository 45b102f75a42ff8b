import { expect } from '@jest/globals';
import type { HttpApp } from '../../support/http-app.js';

/** The tests' own address is a partner's. */
export async function check(app: HttpApp): Promise<void> {
  expect(await app.crowd(3, '/rides')).toEqual({ 200: 3 });
}
