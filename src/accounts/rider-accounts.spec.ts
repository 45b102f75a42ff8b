import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../database/database.js';
import { isPassword } from './password.js';
import { RiderAccounts } from './rider-accounts.js';

let database: Database;
let accounts: RiderAccounts;

beforeAll(async () => {
  database = await Database.open(undefined);
  accounts = new RiderAccounts(database);
});
afterAll(() => database.onApplicationShutdown());

describe('find', () => {
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
    database.run = run;
  });

  it('asks in parts for many riders', async () => {
    const found = await Promise.all(Array.from({ length: 1_500 }, (_, i) => accounts.find(`rider-${i}`)));
    expect(found.flatMap((account) => account?.id ?? [])).toEqual(['rider-1', 'rider-2', 'rider-3', 'rider-4']);
  });
});

it('finds the hash of a password by the e-mail address in any case', async () => {
  const rider = await accounts.findByEmail('Rider-2@Example.com');
  expect(rider).toMatchObject({ id: 'rider-2', plan: 'plus', email: 'rider-2@example.com' });
  expect(await isPassword('open-sesame', rider!.passwordHash)).toBe(true);
  expect(await accounts.findByEmail('nobody@example.com')).toBeUndefined();
});
