import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { PasswordCheck } from '../../src/login/password-check.js';
import { until } from '../support/faults/until.js';
import { type Service, start } from './support/start-app.js';

let service: Service;

afterEach(() => service.app.close());

const RIGHT = 'open-sesame';

function login(email: unknown, password: unknown): request.Test {
  return request(service.url).post('/api/login').send({ email, password });
}

/** Counts the passwords that are checked, each of them for real. */
function countChecks(): { count: number; last: Promise<unknown> | undefined } {
  const passwords = service.app.get(PasswordCheck, { strict: false });
  const matches = passwords.matches.bind(passwords);
  const checks: ReturnType<typeof countChecks> = { count: 0, last: undefined };
  passwords.matches = (password, hash) => {
    checks.count++;
    const check = matches(password, hash);
    checks.last = check.catch(() => undefined);
    return check;
  };
  return checks;
}

async function statusesOf(tests: readonly request.Test[]): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const { status } of await Promise.all(tests)) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe('login', () => {
  it('answers with what the gateway needs', async () => {
    service = await start({ RATE_LIMIT: 'on' });
    const { body } = await login('rider-1@example.com', RIGHT).expect(200);
    expect(body).toEqual({ rider_id: 'rider-1', plan: 'free' });
    expect((await login(' Rider-2@Example.COM ', RIGHT).expect(200)).body).toEqual({
      rider_id: 'rider-2',
      plan: 'plus',
    });
  });

  it('lets 5 of 40 parallel guesses reach the password, and another account log in then', async () => {
    service = await start({ RATE_LIMIT: 'on' });
    const checks = countChecks();
    const spellings = ['rider-1@example.com', 'RIDER-1@example.com', ' rider-1@EXAMPLE.com'];
    const guesses = Array.from({ length: 40 }, (_, i) => login(spellings[i % 3], `guess-${i}`));
    expect(await statusesOf(guesses)).toEqual({ 401: 5, 429: 35 });
    expect(checks.count).toBe(5);

    const { body, headers } = await login('rider-1@example.com', RIGHT).expect(429);
    expect(body).toMatchObject({ error: 'rate_limit_exceeded', policy: 'login-account' });
    expect(Number(headers['retry-after'])).toBeGreaterThan(800);
    expect(checks.count).toBe(5);
    await login('rider-2@example.com', RIGHT).expect(200);
  });

  it('counts guesses whose clients hang up', async () => {
    service = await start({ RATE_LIMIT: 'on' });
    const checks = countChecks();
    for (let i = 1; i <= 5; i++) {
      const guess = login('rider-1@example.com', `guess-${i}`);
      guess.end(() => undefined);
      await until('the password is checked', 10_000, () => checks.count === i);
      guess.abort();
      await checks.last;
    }
    await turn(); // the outcome of the last guess is known
    await login('rider-1@example.com', 'guess-6').expect(429);
    expect(checks.count).toBe(5);
  });

  it('limits the attempts of an address, whatever they say', async () => {
    service = await start({ RATE_LIMIT: 'on' });
    // Without a password there is no work to be waited for.
    const attempts = await Promise.all(Array.from({ length: 90 }, (_, i) => login(`somebody-${i}@example.com`, '')));
    expect(attempts.filter(({ status }) => status === 400)).toHaveLength(60);
    const rejected = attempts.filter(({ status }) => status === 429);
    expect(rejected).toHaveLength(30);
    expect(rejected.every(({ body }) => body.policy === 'login-address')).toBe(true);
  });
});
