import { expect } from '@jest/globals';
import type { HttpApp } from '../../support/http-app.js';
import { post } from '../support/serve.js';

export async function check(app: HttpApp): Promise<void> {
  const send = (): Promise<Response> => post(app, '/probe/emails', { userId: 'ada' });
  const sent = [await send(), await send(), await send()];
  expect(sent.map(({ status }) => status)).toEqual([201, 201, 429]);
  expect(sent.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(['1', '0', '0']);
}
