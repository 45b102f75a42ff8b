import { expect, it } from '@jest/globals';
import type { RateLimitRequest } from 'nestjs-floodgate';
import type { RiderAccount, RiderAccounts } from '../accounts/rider-accounts.js';
import { RiderZones } from './rider-zones.js';

const requestOf = (riderId?: string): RateLimitRequest => ({ headers: { 'x-user-id': riderId } });

function zonesBy(find: (riderId: string) => Promise<RiderAccount | undefined>): RiderZones {
  return new RiderZones({ find } as Partial<RiderAccounts> as RiderAccounts);
}

it('asks once for a rider, whose account says the zone', async () => {
  let asked = 0;
  const zones = zonesBy(async (id) => {
    asked++;
    return { id, plan: 'free', timeZone: 'Asia/Tokyo' };
  });
  const all = await Promise.all(Array.from({ length: 20 }, () => zones.of(requestOf('rider-3'))));
  expect(new Set([...all, await zones.of(requestOf('rider-3'))])).toEqual(new Set(['Asia/Tokyo']));
  expect(asked).toBe(1);
});

it('counts riders without an account, and requests without a rider, in UTC', async () => {
  const asked: string[] = [];
  const zones = zonesBy(async (id) => {
    asked.push(id);
    return undefined;
  });
  expect(await zones.of(requestOf('stranger'))).toBe('UTC');
  expect(await zones.of(requestOf())).toBe('UTC');
  expect(await zones.of(requestOf('no id'))).toBe('UTC');
  expect(asked).toEqual(['stranger']);
});
