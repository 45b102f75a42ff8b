import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { TEXT_BOUNDS } from '../../../libs/nest/src/admin/text-bounds.js';
import { type HttpApp, PLATFORMS } from '../../support/http-app.js';
import { stallOf } from '../../support/loop-stall.js';
import { ADA, ask, LIMITS, serve } from '../support/admin-service.js';

/** The longest text that fits a body by default: body-parser takes 100 kB. */
const LONGEST = 95_000;
/** An unbounded comparison took 4 to 21 s. A busy machine stalls by itself for some tens of milliseconds. */
const STALL_MS = 500;
const TARGET = { policy: 'daily', identity: ADA };

/** A right body for each endpoint that takes one. */
const RIGHT: Readonly<Record<string, { readonly request: string; readonly body: Readonly<Record<string, unknown>> }>> =
  {
    explain: { request: 'POST explain', body: { identity: ADA, route: 'POST /rides' } },
    reset: { request: 'POST reset', body: { identity: ADA, policy: 'daily' } },
    setOverride: { request: 'PUT overrides', body: { ...TARGET, change: { limit: 3 } } },
    findOverride: { request: 'POST overrides/find', body: TARGET },
    removeOverride: { request: 'POST overrides/remove', body: TARGET },
    historyOf: { request: 'POST overrides/history', body: TARGET },
  };

const { kind, identity, tag, ...bounds } = TEXT_BOUNDS;

/** Every place for a text in a body: the way to it, and the most characters that it takes there. */
const WAYS: readonly (readonly [way: readonly string[], most: number])[] = [
  [['identity', 'kind'], kind],
  [['identity', 'value'], identity],
  [['identity'], tag],
  ...Object.entries(bounds).map(([name, most]) => [[name], most] as const),
];

const TARGETED = ['identity', 'policy', 'scope'];
const CHANGED = [...TARGETED, 'reason', 'author'];
const TAKEN: Readonly<Record<string, readonly string[]>> = {
  explain: ['identity', 'route', 'plan', 'timeZone', 'priority'],
  reset: ['identity', 'route', 'policy'],
  setOverride: [...CHANGED, 'expiresIn'],
  findOverride: TARGETED,
  removeOverride: CHANGED,
  historyOf: [...TARGETED, 'cursor'],
};

function withText(body: object, [name, ...rest]: readonly string[], text: string): object {
  const given = (body as Readonly<Record<string, unknown>>)[name!];
  const inner = typeof given === 'object' && given !== null ? given : { kind: 'user', value: 'ada' };
  return { ...body, [name!]: rest.length === 0 ? text : withText(inner, rest, text) };
}

const TEXTS = Object.entries(RIGHT).flatMap(([endpoint, { request, body }]) =>
  WAYS.filter(([[name]]) => TAKEN[endpoint]!.includes(name!)).map(([way, most]) => ({
    request,
    body: way[0] === 'route' && endpoint === 'reset' ? { identity: ADA } : body,
    way,
    name: way.join('.'),
    most,
  })),
);

describe.each(PLATFORMS)('the texts that operators send over %s', (platform) => {
  let http: HttpApp;
  beforeAll(async () => {
    http = await serve(platform);
  });
  afterAll(() => http.close());

  it.each(TEXTS)('$request takes $most characters of $name at most, and answers a longer text at once', async (one) => {
    const { request, body, way, most } = one;
    const [method, path] = request.split(' ') as [string, string];
    for (const length of [most + 1, LONGEST]) {
      for (const letter of ['a', ' ', 'é', '(see https:']) {
        // In UTF-8 the body is no longer than the platforms take.
        const characters = Math.max(most + 1, Math.floor(length / Buffer.byteLength(letter[0]!)));
        const text = letter.repeat(Math.ceil(characters / letter.length)).slice(0, characters);
        const given = withText(body, way, text);
        const { result, stallMs } = await stallOf(() => ask(http, method, `${LIMITS}/${path}`, given));
        expect({ status: result.status, error: result.body.error }).toEqual({ status: 400, error: 'invalid_request' });
        // What was given is cut, and an identity's value is not shown at all.
        expect(JSON.stringify(result.body).length).toBeLessThan(600);
        expect(stallMs).toBeLessThan(STALL_MS);
      }
    }
    expect(http.logs.of('error')).toEqual([]);
  });

  it.each<[string, unknown]>([
    [
      'names without end',
      { exempt: true, ...Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`name${i}`, 1])) },
    ],
    ['a name of 90 kB', { exempt: true, ['(see https:'.repeat(8000)]: 1 }],
    ['an unknown option of 90 kB', { ['x'.repeat(90_000)]: 1 }],
    ['a window of 90 kB', { window: '9'.repeat(90_000) }],
    ['a window of blanks', { window: `1${' '.repeat(90_000)}m` }],
    ['an option of 90 kB in a calendar', { window: { calendar: 'day', ['x'.repeat(90_000)]: 1 } }],
    ['a calendar of 90 kB', { window: { calendar: 'm'.repeat(90_000) } }],
    ['a time zone of 90 kB', { window: { calendar: 'day', timeZone: 'Europe/'.repeat(12_000) } }],
  ])('a change may be anything: %s', async (_, change) => {
    const body = JSON.stringify({ ...TARGET, change });
    const { result, stallMs } = await stallOf(() => ask(http, 'PUT', `${LIMITS}/overrides`, body));
    expect(result.status).toBe(400);
    expect(JSON.stringify(result.body).length).toBeLessThan(1000);
    expect(stallMs).toBeLessThan(STALL_MS);
    expect(http.logs.of('error')).toEqual([]);
  });

  it('a change of arrays in arrays is none', async () => {
    // JSON.stringify itself cannot write so many.
    const window = `${'['.repeat(40_000)}${']'.repeat(40_000)}`;
    const body = `{ "policy": "daily", "identity": "user:ada", "change": { "window": ${window} } }`;
    const { result } = await stallOf(() => ask(http, 'PUT', `${LIMITS}/overrides`, body));
    expect(result.status).toBe(400);
    expect(http.logs.of('error')).toEqual([]);
  });

  it('a rate of 90 kB in a change is no rate', async () => {
    const all = { policy: 'all', change: { refill: `1.${'3'.repeat(90_000)}/s` } };
    const { result, stallMs } = await stallOf(() => ask(http, 'PUT', `${LIMITS}/overrides`, all));
    expect(result.status).toBe(400);
    expect(stallMs).toBeLessThan(STALL_MS);
  });

  it.each(['GET overrides?cursor=', 'GET overrides?limit=', 'GET overrides/history?cursor=', 'GET table?limited='])(
    '%s takes as much as a URL holds',
    async (request) => {
      const [method, path] = request.split(' ') as [string, string];
      const { result, stallMs } = await stallOf(() => ask(http, method, `${LIMITS}/${path}${'1'.repeat(14_000)}`));
      expect(result.status).toBe(400);
      expect(JSON.stringify(result.body).length).toBeLessThan(600);
      expect(stallMs).toBeLessThan(STALL_MS);
    },
  );
});
