import { expect, it } from '@jest/globals';
import { hashPassword } from '../accounts/password.js';
import { BusyException } from '../http/busy.js';
import { NOBODY, PasswordCheck } from './password-check.js';

/** The hash of `open-sesame`, by the least work that scrypt can do. */
const QUICK = 'scrypt$2$1$1$AAAAAAAAAAAAAAAAAAAAAA==$RoiL9k/suUNwHP7VhCQOc/wb4DLNC7eQrQlCazkf0Gs=';

it('takes the same work for an account that does not exist, and finds no password right', async () => {
  const shape = (hash: string): unknown[] => {
    const [name, N, r, p, salt, key] = hash.split('$');
    return [name, N, r, p, Buffer.from(salt!, 'base64').length, Buffer.from(key!, 'base64').length];
  };
  expect(shape(NOBODY)).toEqual(shape(await hashPassword('any')));
  expect(await new PasswordCheck().matches('', undefined)).toBe(false);
});

it('checks some passwords at once, lets some wait, and turns the rest away', async () => {
  const passwords = new PasswordCheck();
  const checks = await Promise.allSettled(Array.from({ length: 80 }, () => passwords.matches('open-sesame', QUICK)));
  const checked = checks.filter((check) => check.status === 'fulfilled');
  expect(checked.every(({ value }) => value)).toBe(true);
  // p-limit begins its first ones a moment later.
  expect(checked.length).toBeGreaterThanOrEqual(50);
  expect(checked.length).toBeLessThanOrEqual(52);
  const turnedAway = checks.flatMap((check) => (check.status === 'rejected' ? [check.reason as unknown] : []));
  expect(turnedAway.every((error) => error instanceof BusyException)).toBe(true);
  expect(await passwords.matches('open-sesame', QUICK)).toBe(true);
  expect(await passwords.matches('open-says-me', QUICK)).toBe(false);
});
