import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { createLimiter } from 'floodgate';
import type { HeaderFormat } from 'floodgate/http';
import { VirtualClock, VirtualStore } from 'floodgate/testing';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { parseItem, Token } from 'structured-headers';
import { readStatements } from '../../libs/floodgate/src/util/responses/statements.js';
import { CapturedLogs, PLATFORMS, start } from '../support/http-app.js';
import { readList } from '../support/structured-fields.js';
import { NAMES, type ServerName, SERVERS } from './support/servers.js';

const PLACES = { name: 'places', algorithm: 'concurrency', limit: 1, lease: '1m' } as const;
const POLICIES = [
  { name: 'day', algorithm: 'fixed-window', limit: 20, window: '1d', quotaUnit: 'content-bytes', cost: 5 },
  // A String escapes two of these characters, and a list has the comma.
  { name: 'a "b" \\, c', algorithm: 'token-bucket', capacity: 2, refill: '1/10s' },
] as const;
const SERVED = [...PLATFORMS.map((platform) => `Nest over ${platform}`), ...NAMES];

const closing: (() => PromiseLike<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

interface Served {
  readonly url: string;
  /** Resolves when a request is in the handler. */
  readonly entered: Promise<void>;
  /** Lets that request go on. */
  readonly release: () => void;
}

/** A limited server: `/200` answers at once, and `/handler` when `release` is called. */
async function open(served: string, headers: HeaderFormat): Promise<Served> {
  let [enter, release] = [(): void => {}, (): void => {}];
  const entered = new Promise<void>((resolve) => (enter = resolve));
  const released = new Promise<void>((resolve) => (release = resolve));
  const handler = async (): Promise<number> => {
    enter();
    await released;
    return 200;
  };
  const store = new VirtualStore(new VirtualClock());
  const policies = [PLACES, ...POLICIES].map((policy) => ({ ...policy, scope: 'app' }) as const);
  const platform = PLATFORMS.find((one) => served === `Nest over ${one}`);
  if (platform === undefined) {
    const limiter = await createLimiter({ store, logger: new CapturedLogs() });
    const server = await SERVERS[served as ServerName](limiter, [[policies, { headers }]], handler);
    closing.push(
      () => limiter.close(),
      () => server[Symbol.asyncDispose](),
    );
    return { url: server.url, entered, release: () => release() };
  }
  @Controller()
  @RateLimit(policies[0]!, ...policies.slice(1))
  class Routes {
    @Get('200')
    read(): object {
      return {};
    }

    @Get('handler')
    async hold(): Promise<object> {
      return { status: await handler() };
    }
  }
  const app = await start(platform, { imports: [RateLimitModule.forRoot({ store, headers })], controllers: [Routes] });
  closing.push(() => app.close());
  return { url: `http://127.0.0.1:${app.port}`, entered, release: () => release() };
}

/** The headers of all answers to a request that passes, one beside it, and those behind them until the limit is used up. */
async function play({ url, entered, release }: Served): Promise<Record<number, Headers[]>> {
  const held = fetch(`${url}/handler`);
  await entered;
  const answers: Record<number, Headers[]> = {};
  const keep = async ({ status, headers, body }: Response): Promise<void> => {
    await body?.cancel();
    (answers[status] ??= []).push(headers);
  };
  await keep(await fetch(`${url}/200`)); // the lease of the first is open
  release();
  await keep(await held);
  while ((answers[429]?.length ?? 0) < 2) await keep(await fetch(`${url}/200`));
  return answers;
}

/** The parameters of the draft, with the types of their values, and the library's own. */
const PARAMETERS = {
  'ratelimit-policy': { q: 'number', w: 'number', qu: 'string' },
  ratelimit: { r: 'number', t: 'number', 'floodgate-estimated': 'boolean' },
} as const;

function checkList(field: keyof typeof PARAMETERS, text: string): void {
  const items = readList(text);
  expect(items.map(([name]) => name)).toEqual([PLACES, ...POLICIES].map(({ name }) => name));
  for (const [, parameters] of items) {
    expect(PARAMETERS[field]).toMatchObject(
      Object.fromEntries(Object.entries(parameters).map(([key, value]) => [key, typeof value])),
    );
    expect(parameters).toHaveProperty(field === 'ratelimit' ? 'r' : 'q');
  }
}

/** Reads a header as the Item of RFC 9651 that it is. Throws for any other text. */
function itemOf(name: string, text: string): unknown {
  const [item] = parseItem(text);
  return name === 'x-ratelimit-estimated' ? item : Number.isSafeInteger(item);
}

const SENT: Readonly<Record<HeaderFormat, readonly string[]>> = {
  'x-ratelimit': ['limit', 'remaining', 'reset'].map((name) => `x-ratelimit-${name}`),
  'draft-11': ['ratelimit', 'ratelimit-policy'],
  get 'x-ratelimit+draft-11'() {
    return [...this['draft-11'], ...this['x-ratelimit']];
  },
  throttler: [],
};

describe.each(SERVED)('a parser of structured fields reads each header of %s', (served) => {
  it.each(Object.keys(SENT) as HeaderFormat[])('in the format %s', async (format) => {
    const answers = await play(await open(served, format));
    expect(Object.keys(answers)).toEqual(['200', '429']);
    for (const headers of Object.values(answers).flat()) {
      const fields = [...headers].filter(([name]) => /ratelimit|^retry-after/.test(name));
      expect(fields.map(([name]) => name)).toEqual(expect.arrayContaining([...SENT[format]]));
      const [lists, items] = [true, false].map((isList) => fields.filter(([name]) => name in PARAMETERS === isList));
      for (const [name, text] of lists!) checkList(name as keyof typeof PARAMETERS, text);
      for (const [name, text] of items!) expect([true, new Token('true')]).toContainEqual(itemOf(name, text));
    }
    if (!format.includes('draft')) return;
    const estimated = answers[429]!.map((headers) =>
      readStatements((name) => headers.get(name) ?? undefined, Date.now).map(
        (statement) => statement.estimated === true,
      ),
    );
    // The lease of the first answer may end; what is used up is used up.
    expect(estimated).toEqual([
      [true, false, false],
      [false, false, false],
    ]);
  });
});
