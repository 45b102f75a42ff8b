import { describe, expect, it } from '@jest/globals';
import { constantFrom, date, oneof, property, record, assert } from 'fast-check';
import { DateTime } from 'luxon';
import { histories } from '../../../../../test/support/property-runs.js';
import { Calendar, type CalendarUnit, isTimeZone } from './calendar.js';

const UNITS: readonly CalendarUnit[] = ['day', 'week', 'month'];
const HOUR = 3_600_000_000;
const DAY = 24 * HOUR;

/** An instant of UTC in microseconds. */
const at = (text: string): number => Date.parse(text) * 1000;

/** Zones whose clocks change in the night, at midnight, by half an hour, twice a year, or not at all. */
const zones = constantFrom(
  'UTC',
  'America/New_York',
  'Europe/Paris',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Africa/Cairo',
  'Africa/Casablanca',
  'Asia/Beirut',
  'America/Havana',
  'America/Santiago',
  'America/Asuncion',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Pacific/Apia',
  'Pacific/Kiritimati',
  'Pacific/Pago_Pago',
  'Pacific/Chatham',
  'Etc/GMT+12',
);

/** Any instant, often close to the midnight of some day in some zone, where rules change. */
const instants = oneof(
  date({ min: new Date('1971-01-01'), max: new Date('2060-01-01'), noInvalidDate: true }).map(
    (day) => day.getTime() * 1000 + 123,
  ),
  record({
    day: date({ min: new Date('2000-01-01'), max: new Date('2035-01-01'), noInvalidDate: true }),
    off: constantFrom(-1, 0, 1),
  }).map(({ day, off }) => Math.floor(day.getTime() / 1_800_000) * 1_800_000_000 + off),
);

const asked = record({ unit: constantFrom(...UNITS), zone: zones, instant: instants });

describe('a calendar', () => {
  it('puts every instant into one window: windows follow one another without a gap', () => {
    assert(
      property(asked, ({ unit, zone, instant }) => {
        const calendar = new Calendar(unit, zone);
        const [start, end] = [calendar.startOf(instant), calendar.endOf(instant)];
        expect(start <= instant && instant < end).toBe(true);
        expect(end - start).toBeLessThanOrEqual(calendar.longest);
        expect(calendar.edgesAround(instant).slice(1, 3)).toEqual([start, end]);
        // Another calendar has not seen `instant` first.
        const other = new Calendar(unit, zone);
        expect([other.startOf(start), other.endOf(start)]).toEqual([start, end]);
        expect([other.startOf(end - 1), other.endOf(end - 1)]).toEqual([start, end]);
        expect([other.startOf(end), other.endOf(start - 1)]).toEqual([end, start]);
      }),
      histories(),
    );
  });

  it('begins windows where the local date begins, as Luxon says', () => {
    assert(
      property(asked, ({ unit, zone, instant }) => {
        // St. John's had clocks that went back from 00:01 until 2011: its dates came twice, and Luxon takes the second one.
        if (zone === 'America/St_Johns' && instant < at('2012-01-01')) return;
        const local = DateTime.fromMillis(Math.floor(instant / 1000), { zone });
        const calendar = new Calendar(unit, zone);
        // In Havana midnight comes twice where the clocks go back: the window begins with the first one.
        const [start] = local
          .startOf(unit)
          .getPossibleOffsets()
          .map((one) => one.toMillis())
          .toSorted((one, other) => one - other);
        expect(new Date(calendar.startOf(instant) / 1000).toISOString()).toBe(new Date(start!).toISOString());
      }),
      histories(),
    );
  });

  it.each<[string, CalendarUnit, string, string, string, string]>([
    [
      'a day that loses an hour',
      'day',
      'America/New_York',
      '2026-03-08T20:00Z',
      '2026-03-08T05:00Z',
      '2026-03-09T04:00Z',
    ],
    ['a day without a midnight', 'day', 'Africa/Cairo', '2026-04-24T10:00Z', '2026-04-23T22:00Z', '2026-04-24T21:00Z'],
    ['a week from Monday', 'week', 'Europe/Paris', '2026-11-22T12:00Z', '2026-11-15T23:00Z', '2026-11-22T23:00Z'],
    ['a month', 'month', 'Europe/Paris', '2026-11-22T12:00Z', '2026-10-31T23:00Z', '2026-11-30T23:00Z'],
    [
      'the day before a day that a zone left out',
      'day',
      'Pacific/Apia',
      '2011-12-30T09:00Z',
      '2011-12-29T10:00Z',
      '2011-12-30T10:00Z',
    ],
  ])('knows %s', (_, unit, zone, instant, start, end) => {
    const calendar = new Calendar(unit, zone);
    expect([calendar.startOf(at(instant)), calendar.endOf(at(instant))]).toEqual([at(start), at(end)]);
  });

  it('begins no window before 1970: states hold no such instants', () => {
    const calendar = new Calendar('day', 'America/New_York');
    expect([calendar.startOf(0), calendar.endOf(0), calendar.endOf(5 * HOUR)]).toEqual([0, 5 * HOUR, 5 * HOUR + DAY]);
  });

  it.each(['Europe/Pari', '', 'CET+1', undefined, 7])('knows no time zone %p', (name) => {
    expect(isTimeZone(name)).toBe(false);
  });
});
