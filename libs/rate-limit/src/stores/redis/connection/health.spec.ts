import { expect, it } from '@jest/globals';
import { withHelp } from '../../../util/error-codes.js';
import { Health } from './health.js';

it('writes one full stop behind a reason that Redis ends with one', () => {
  const warnings: string[] = [];
  const logger = {
    log: () => undefined,
    error: () => undefined,
    warn: (message: string) => void warnings.push(message),
  };
  const health = new Health({ logger, probe: () => new Promise(() => undefined) });
  health.trip('WRONGPASS invalid username-password pair or user is disabled.');
  expect(warnings).toEqual([
    withHelp(
      'Redis is unavailable: WRONGPASS invalid username-password pair or user is disabled. Until it is available again, ' +
        'requests go by onStoreFailure',
      'FG_STORE_UNAVAILABLE',
    ),
  ]);
  expect(health.unavailable?.message).toBe(
    'Redis is unavailable: WRONGPASS invalid username-password pair or user is disabled',
  );
  health.close();
});
