import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type BareItem, parseList, serializeList, Token } from 'structured-headers';
import { readHttpDate, readRetryAfter } from '../../floodgate/src/util/responses/retry-after.js';
import { readStatements } from '../../floodgate/src/util/responses/statements.js';
import { readInteger, readStringList } from '../../floodgate/src/util/responses/structured-list.js';

const NOW = Date.UTC(2026, 10, 22, 12);
const wallNow = (): number => NOW;

describe('Retry-After', () => {
  it.each<[field: string | undefined, date: string | undefined, ms: number | undefined]>([
    ['120', undefined, 120_000],
    ['99999999999999999999999', undefined, 2 ** 43 * 1000],
    ['Sun, 22 Nov 2026 12:00:05 GMT', undefined, 5000],
    ['Sun, 22 Nov 2026 12:00:05 GMT', 'Sun, 22 Nov 2026 11:59:00 GMT', 65_000],
    ['Sun, 22 Nov 2026 12:00:05 GMT', 'yesterday', 5000],
    [undefined, undefined, undefined],
    ['-1', undefined, undefined],
    ['1.5', undefined, undefined],
    ['soon', undefined, undefined],
    ['Sun, 22 Nov 2026 12:00:05 CET', undefined, undefined],
    ['Sun, 22 Nov 2026 25:00:05 GMT', undefined, undefined],
  ])('%j with the date %j is %j ms', (field, date, ms) => {
    expect(readRetryAfter(field, date, wallNow)).toBe(ms);
  });

  it.each([['Sun, 06 Nov 1994 08:49:37 GMT'], ['Sunday, 06-Nov-94 08:49:37 GMT'], ['Sun Nov  6 08:49:37 1994']])(
    'takes the form %j of a date',
    (text) => {
      expect(readHttpDate(text, wallNow)).toBe(Date.UTC(1994, 10, 6, 8, 49, 37));
    },
  );
});

function parses(field: string): boolean {
  try {
    parseList(field);
    return true;
  } catch {
    return false;
  }
}

describe('a structured list', () => {
  const key = fc.stringMatching(/^[a-z*][a-z0-9_\-.*]{0,6}$/);
  const text = fc.stringMatching(/^[ -~]{0,12}$/);
  const bare: fc.Arbitrary<BareItem> = fc.oneof(
    text,
    fc.integer(),
    fc.boolean(),
    fc.stringMatching(/^[A-Za-z*][A-Za-z0-9:/!#$%&'*+\-.^_`|~]{0,8}$/).map((token) => new Token(token)),
    fc.uint8Array({ maxLength: 9 }).map((bytes) => Uint8Array.from(bytes).buffer),
  );
  const parameters = fc
    .array(fc.tuple(key, bare), { maxLength: 4 })
    .map((entries) => new Map<string, BareItem>(entries));

  it('has the Strings and the Integers that a full parser finds', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(bare, parameters), { minLength: 1, maxLength: 5 }), (list) => {
        const field = serializeList(list);
        const found = readStringList(field);
        const strings = parseList(field).filter(([value]) => typeof value === 'string');
        expect(found).toHaveLength(strings.length);
        for (const [i, [value, given]] of strings.entries()) {
          expect(found[i]!.name.replace(/\\(.)/g, '$1')).toBe(value);
          expect([...found[i]!.parameters.keys()].toSorted()).toEqual([...given.keys()].toSorted());
          for (const [name, parameter] of given) {
            const whole = typeof parameter === 'number' && parameter >= 0 ? parameter : undefined;
            expect(readInteger(found[i]!.parameters.get(name))).toBe(whole);
          }
        }
      }),
      { numRuns: 100 },
    );
  });

  it('is empty where a full parser fails, whatever the text is', () => {
    const part = fc.constantFrom('"a"', ', ', '?1', ':YQ==:', ...Array.from(';r=1 t"\\-.x\t'));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 14 }), (parts) => {
        const field = parts.join('');
        fc.pre(!parses(field));
        expect(readStringList(field)).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

describe('the statements of a response', () => {
  const read = (headers: Readonly<Record<string, string>>): unknown => readStatements((name) => headers[name], wallNow);

  it.each<[Readonly<Record<string, string>>, object[]]>([
    [{}, []],
    [
      { ratelimit: '"burst";r=50;t=30, "daily";r=0;t=86400;pk=:YQ==:' },
      [
        { limit: 'burst', remaining: 50, moreAfterMs: 30_000 },
        { limit: 'daily:YQ==:', remaining: 0, moreAfterMs: 86_400_000 },
      ],
    ],
    [{ ratelimit: '"a";r=1;t=2.5;acme-policy="x"' }, [{ limit: 'a', remaining: 1 }]],
    [{ ratelimit: '"a";t=2' }, []],
    [{ ratelimit: '  "a";r=1  ' }, [{ limit: 'a', remaining: 1 }]],
    [
      { ratelimit: '"a";r=5;t=1', 'ratelimit-policy': '"a";q=9;qu="concurrent-requests"' },
      [{ limit: 'a', remaining: Infinity, moreAfterMs: 1000 }],
    ],
    // RateLimit comes before X-RateLimit-*.
    [{ ratelimit: '"a";r=5', 'x-ratelimit-remaining': '0' }, [{ limit: 'a', remaining: 5 }]],
    [
      { 'x-ratelimit-limit': '20', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW / 1000 + 3) },
      [{ limit: '\ntriple', remaining: 0, all: 20, allAfterMs: 3000 }],
    ],
    [
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW + 250) },
      [{ limit: '\ntriple', remaining: 0, allAfterMs: 250 }],
    ],
    [
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW / 1000 - 9) },
      [{ limit: '\ntriple', remaining: 0, allAfterMs: 0 }],
    ],
    [{ 'x-ratelimit-remaining': 'many' }, []],
  ])('%j', (headers, statements) => {
    expect(read(headers)).toEqual(statements);
  });
});
