import { describe, expect, it } from '@jest/globals';
import { readHttpDate, readRetryAfter } from '../../floodgate/src/util/responses/retry-after.js';
import { readStatements } from '../../floodgate/src/util/responses/statements.js';
import { readStringList } from '../../floodgate/src/util/responses/structured-list.js';
import { readAnswer } from '../../floodgate/src/util/responses/read-response.js';

const LENGTH = 300_000;
const PARTS = ' |\t|,|;|"|\\|9|a| ,| ;|";|a;|"a";r=1,|Sun, |06 |-|;r=|%'.split('|');
const TEXTS = PARTS.flatMap((part) => {
  const text = part.repeat(LENGTH / part.length);
  return [text, `"a";r=5;t=1${text}`, `${text}x`, `1${text}1`];
});
const FIELDS = ['ratelimit', 'ratelimit-policy', 'retry-after', 'date', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

// A reader whose time grows with the square of the length takes minutes, and the test times out.
describe('a text of a server, however long,', () => {
  it('is read in a time that grows with its length at most', () => {
    for (const text of TEXTS) {
      // A field is never that long.
      expect(readStringList(text)).toEqual([]);
      expect(readHttpDate(text, () => 0)).toBeUndefined();
      readRetryAfter(text, text, () => 0);
    }
  });

  it.each(FIELDS)('does not keep the client, in %s', (field) => {
    for (const text of TEXTS) {
      const header = (name: string): string | undefined => (name === field ? text : undefined);
      expect(readStatements(header, () => 0).length).toBeLessThanOrEqual(1);
      readAnswer({ status: 429, header, body: undefined }, { preemptive: true, wallNow: () => 0 });
    }
  });
});
