import { expect } from '@jest/globals';
import type { HttpApp } from '../../support/http-app.js';
import { post } from '../support/serve.js';

export async function check(app: HttpApp): Promise<void> {
  const login = async (email: string): Promise<number> => (await post(app, '/probe/login', { email })).status;
  for (let i = 0; i < 5; i++) expect(await login('ada@example.com')).toBe(201);
  expect(await login('ADA@example.com')).toBe(429);
  // The rejected attempt took nothing from the address.
  for (let i = 5; i < 30; i++) expect(await login(`${i}@example.com`)).toBe(201);
  expect(await login('last@example.com')).toBe(429);
}
