const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec';
const TIME = String.raw`(\d\d):(\d\d):(\d\d)`;
const MONTH = `(${MONTHS.replaceAll(' ', '|')})`;
/** The three forms of an HTTP date. Each captures, in its own order, what `fields` names. */
const FORMS = [
  // Sun, 06 Nov 1994 08:49:37 GMT
  {
    pattern: new RegExp(String.raw`^[A-Z][a-z]{2}, (\d\d) ${MONTH} (\d{4}) ${TIME} GMT$`),
    fields: ['day', 'month', 'year', 'hour', 'minute', 'second'],
  },
  // Sunday, 06-Nov-94 08:49:37 GMT
  {
    pattern: new RegExp(String.raw`^[A-Z][a-z]{5,8}, (\d\d)-${MONTH}-(\d\d) ${TIME} GMT$`),
    fields: ['day', 'month', 'year', 'hour', 'minute', 'second'],
  },
  // Sun Nov  6 08:49:37 1994
  {
    pattern: new RegExp(String.raw`^[A-Z][a-z]{2} ${MONTH} ([ \d]\d) ${TIME} (\d{4})$`),
    fields: ['month', 'day', 'hour', 'minute', 'second', 'year'],
  },
];
/** 285,000 years: a longer delay means the same, and the sum with a clock stays exact. */
const LONGEST_SECONDS = 2 ** 43;
/**
 * Milliseconds that a `Retry-After` field asks to wait: whole seconds, or an HTTP date. A date in the past is 0. Undefined when
 * there is no field or it is malformed.
 *
 * A date is compared with the response's own `Date`, so the clocks of client and server need not agree.
 *
 * @param date the response's `Date` field
 * @param wallNow milliseconds since 1970, for a response without `Date`
 * @see RFC 9110, sections 10.2.3 and 5.6.7
 */
export function readRetryAfter(field, date, wallNow) {
  const text = field?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text), LONGEST_SECONDS) * 1000;
  const until = readHttpDate(text, wallNow);
  if (until === undefined) return undefined;
  return Math.max(0, until - (readHttpDate(date?.trim() ?? '', wallNow) ?? wallNow()));
}
/**
 * Milliseconds since 1970 of an HTTP date; undefined when the text is none. `Date.parse` takes more, and takes the form without a
 * zone as local time.
 */
export function readHttpDate(text, wallNow) {
  for (const { pattern, fields } of FORMS) {
    const match = pattern.exec(text);
    if (match === null) continue;
    const read = (field) => Number(match[fields.indexOf(field) + 1]);
    const year = match[fields.indexOf('year') + 1];
    const month = MONTHS.indexOf(match[fields.indexOf('month') + 1]) / 4;
    const [day, hour, minute, second] = [read('day'), read('hour'), read('minute'), read('second')];
    if (day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) return undefined;
    const at = (century) => Date.UTC(century + Number(year), month, day, hour, minute, second);
    return year.length === 4 ? at(0) : ofTwoDigits(at, wallNow());
  }
  return undefined;
}
/** A year of two digits that seems more than 50 years ahead is the latest year in the past with these digits. */
function ofTwoDigits(at, now) {
  const thisYear = new Date(now).getUTCFullYear();
  const century = thisYear - (thisYear % 100);
  return new Date(at(century)).getUTCFullYear() > thisYear + 50 ? at(century - 100) : at(century);
}
