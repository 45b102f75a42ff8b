import { expect } from '@jest/globals';
import { DateTime } from 'luxon';
import type { HttpApp } from '../../support/http-app.js';

/** The end of the day in a zone, as the headers of a response say it: whole seconds. */
async function endOfDay(app: HttpApp, user: string): Promise<number> {
  return Number((await app.as(user, '/probe/reports/mine')).headers['x-ratelimit-reset']);
}

export async function check(app: HttpApp): Promise<void> {
  for (const [user, zone] of [
    ['ada', 'Asia/Tokyo'],
    ['bob', 'Europe/Paris'],
  ] as const) {
    const next = (): number => DateTime.now().setZone(zone).plus({ days: 1 }).startOf('day').toSeconds();
    const before = next();
    const ends = await endOfDay(app, user);
    expect(ends - 1 <= next() && ends >= before).toBe(true);
  }
  const statuses = [1, 2].map(async () => (await app.as('ada', '/probe/reports/mine')).status);
  expect((await Promise.all(statuses)).toSorted((one, other) => one - other)).toEqual([200, 429]);
}
