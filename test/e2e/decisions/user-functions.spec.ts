import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ArgumentsHost } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import type { RateLimitRequest } from 'nestjs-floodgate';
import { PLATFORMS } from '../../support/http-app.js';
import { LONG } from '../../support/long.js';
import { unhandledRejections } from '../../support/node-warnings.js';
import { AT_ONCE, type Behaviour, LATE_MS, LATER } from '../../support/user-functions/behaviours.js';
import { type Play, PLAYS } from '../../support/user-functions/plays.js';
import { USER_FUNCTIONS, type UserFunction, type UserFunctionName } from '../../support/user-functions/table.js';

const ROWS = Object.keys(PLAYS) as UserFunctionName[];

/** Any answer. */
const ANY = /^(\d{3}|mailed|failed)\b/;

/** What the requests of a play get; undefined: any answer. */
function expectedOf(play: Play, { promise }: UserFunction, { does, title }: Behaviour): string | undefined {
  const later = LATER.some((behaviour) => behaviour.title === title);
  // Nothing waits for the promise: what it comes to changes no answer.
  if (later && promise === 'not awaited' && does !== 'right') return play.ignored ?? play.works;
  if (later && promise === 'no') {
    // What is no native promise is nonsense.
    const isNative = !/least of a promise|whose then/.test(title);
    return isNative || !('nonsense' in play) ? play.fails : play.nonsense;
  }
  if (does === 'right') return play.works;
  if (does === 'throws') return play.fails;
  // Whoever awaits it gets its error.
  if (does === 'unreadable') {
    return play.unreadable ?? (promise === 'not awaited' ? (play.ignored ?? play.works) : play.fails);
  }
  if (does === 'hangs') return play.hangs === undefined ? play.fails : (play.hangs ?? undefined);
  return 'nonsense' in play ? play.nonsense : play.fails;
}

/** What the list in docs/failures.md says of each function. Functions of one line share what it says. */
function documented(): string[][] {
  const page = readFileSync(fileURLToPath(new URL('../../../docs/failures.md', import.meta.url)), 'utf8');
  const [, section = ''] = page.split('## When your function fails');
  return Array.from(section.split('\n##')[0]!.matchAll(/^- (`[^:]+): (.+)$/gm)).flatMap(([, functions, says]) =>
    functions!.split(', ').map((name) => [name, says!]),
  );
}

it('docs/failures.md has the same list', () => {
  const rows = Object.entries<UserFunction>(USER_FUNCTIONS).map(([name, { fails, hangs, nonsense }]) => {
    const [method, of] = name.split(' of ');
    const late = hangs === undefined ? [] : [`late: ${hangs}`];
    const wrong = nonsense === undefined ? [] : [`nonsense: ${nonsense}`];
    const others = hangs !== undefined && hangs === nonsense ? [`late or nonsense: ${hangs}`] : [...late, ...wrong];
    return [`\`${method}\`${of === undefined ? '' : ` of ${of}`}`, [fails, ...others].join('; ')];
  });
  expect(documented().toSorted(byName)).toEqual(rows.toSorted(byName));
});

function byName([one = '']: readonly string[], [other = '']: readonly string[]): number {
  return one < other ? -1 : 1;
}

const ASKED = ROWS.flatMap((name) => {
  const { request }: UserFunction = USER_FUNCTIONS[name];
  return request === undefined ? [] : [[name, request] as const];
});

it.each(ASKED)('%s gets the request as its argument %i, and the context behind it', async (name, place) => {
  const { right, run, works } = PLAYS[name];
  for (const platform of PLATFORMS) {
    const given: unknown[][] = [];
    const noting = (...args: unknown[]): unknown => {
      given.push(args);
      return right(...args);
    };
    expect(await run(noting, platform)).toBe(works);
    const [request, context, ...more] = given[0]!.slice(place) as [RateLimitRequest, ArgumentsHost];
    expect(request).toMatchObject({ headers: {}, ip: expect.stringContaining('127.0.0.1'), url: expect.any(String) });
    expect(context.switchToHttp().getRequest<unknown>()).toBe(request);
    expect(more).toEqual([]);
  }
});

const ALL = [...AT_ONCE, ...LATER];
/** What each function does in `npm test`. */
const QUICK = ['throws an error', 'never settles'];
const USUAL = [...QUICK, 'answers at once', 'answers with a promise', 'rejects with an error', 'returns NaN'];
/** `npm run test:all` adds what is usual, and each row a sixth of the rest: how a value is read does not depend on the row. */
const isTried = ({ title }: Behaviour, i: number, row: number): boolean =>
  LONG ? USUAL.includes(title) || (i + row) % 6 === 0 : QUICK.includes(title);

describe.each(ROWS)('%s', (name) => {
  const row: UserFunction = USER_FUNCTIONS[name];
  const play = PLAYS[name];
  const behaviours = ALL.filter((one, i) => isTried(one, i, ROWS.indexOf(name))).filter(
    ({ does }) => does !== 'hangs' || play.hangs !== null,
  );

  it.each(behaviours.map((behaviour, i) => [behaviour.title, behaviour, i] as const))(
    'that %s: every request is answered as documented, and the process lives',
    async (_, behaviour, i) => {
      // The platforms take turns: what a function does is read before the platform matters.
      const platforms = play.platforms ?? (['Express'] as const);
      const rejections = unhandledRejections();
      const given = behaviour.made(play.right as never);
      const seen = await play.run(given, platforms[i % platforms.length]!);
      if (behaviour.title.startsWith('rejects after')) await new Promise((resolve) => setTimeout(resolve, LATE_MS));
      expect(await rejections()).toEqual([]);
      const expected = expectedOf(play, row, behaviour);
      expect(seen).toMatch(expected === undefined ? ANY : new RegExp(`^${expected}$`));
    },
  );
});
