import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Database } from '../database/database.js';
import { hashPassword, isPassword } from './password.js';
import { RiderAccounts } from './rider-accounts.js';

let database: Database;
let accounts: RiderAccounts;

beforeEach(async () => {
  database = await Database.open(undefined);
  accounts = new RiderAccounts(database);
});
afterEach(() => database.onApplicationShutdown());

describe('find', () => {
  it('finds the riders of a new database', async () => {
    expect(await Promise.all(['rider-1', 'rider-2', 'nobody'].map((id) => accounts.find(id)))).toEqual([
      { id: 'rider-1', plan: 'free', timeZone: 'America/New_York' },
      { id: 'rider-2', plan: 'plus', timeZone: 'Europe/Paris' },
      undefined,
    ]);
  });

  it('asks once for the calls of a turn, and once for those that come meanwhile', async () => {
    let queries = 0;
    const run = database.run.bind(database);
    database.run = (work) => (queries++, run(work));
    const first = Array.from({ length: 500 }, (_, i) => accounts.find(`rider-${i % 250}`));
    await new Promise((resolve) => setImmediate(resolve));
    const later = Array.from({ length: 500 }, (_, i) => accounts.find(`rider-${i}`));
    const found = await Promise.all([...first, ...later]);
    expect(found.filter((account) => account !== undefined)).toHaveLength(12);
    expect(queries).toBe(2);
  });

  it('asks in parts for many riders', async () => {
    const found = await Promise.all(Array.from({ length: 40_000 }, (_, i) => accounts.find(`rider-${i}`)));
    expect(found.flatMap((account) => account?.id ?? [])).toEqual(['rider-1', 'rider-2', 'rider-3', 'rider-4']);
  });
});

it('changes a plan', async () => {
  expect(await accounts.setPlan('rider-1', 'plus')).toMatchObject({ id: 'rider-1', plan: 'plus' });
  expect(await accounts.find('rider-1')).toMatchObject({ plan: 'plus' });
  expect(await accounts.find('rider-3')).toMatchObject({ plan: 'free' });
  expect(await accounts.setPlan('nobody', 'plus')).toBeUndefined();
});

it('finds the hash of a password by the e-mail address in any case', async () => {
  const rider = await accounts.findByEmail('Rider-2@Example.com');
  expect(rider).toMatchObject({ id: 'rider-2', plan: 'plus', email: 'rider-2@example.com' });
  expect(await isPassword('open-sesame', rider!.passwordHash)).toBe(true);
  expect(await isPassword('open-sesam', rider!.passwordHash)).toBe(false);
  expect(await accounts.findByEmail('nobody@example.com')).toBeUndefined();
});

it('hashes passwords with a salt', async () => {
  const hashes = [await hashPassword('secret'), await hashPassword('secret')];
  expect(hashes[0]).not.toBe(hashes[1]);
  expect(await Promise.all(hashes.map((hash) => isPassword('secret', hash)))).toEqual([true, true]);
  expect(await isPassword('secret', 'plain')).toBe(false);
});
