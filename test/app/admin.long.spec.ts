import { expect, it } from '@jest/globals';
import request from 'supertest';
import { start } from './support/start-app.js';

const TOKEN = '0123456789abcdef0123456789abcdef';

it('/api/admin/limits lets 20 of 60 parallel guesses through, and then not even the right token', async () => {
  const { app, url } = await start({ RATE_LIMIT: 'on', ADMIN_TOKEN: TOKEN });
  try {
    const table = (token: string): request.Test =>
      request(url).get('/api/admin/limits/table').set('Authorization', `Bearer ${token}`);
    const guesses = await Promise.all(Array.from({ length: 60 }, (_, i) => table(`wrong-token-number-${i}`)));
    expect(guesses.filter(({ status }) => status === 401)).toHaveLength(20);
    expect(guesses.filter(({ status }) => status === 429)).toHaveLength(40);
    const right = await table(TOKEN).expect(429);
    expect(right.body).toMatchObject({ error: 'rate_limit_exceeded', policy: 'admin-tokens' });
    expect(Number(right.headers['retry-after'])).toBeGreaterThan(0);
  } finally {
    await app.close();
  }
});
