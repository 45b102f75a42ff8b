import { expect } from '@jest/globals';
import type { HttpApp } from '../../support/http-app.js';

export async function check(app: HttpApp): Promise<void> {
  const start = performance.now();
  expect(await app.crowd(4, '/probe/invoices', { method: 'POST' })).toEqual({ 201: 4 });
  expect(performance.now() - start).toBeGreaterThan(295);
}
