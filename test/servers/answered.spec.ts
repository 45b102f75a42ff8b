import { PassThrough } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { createLimiter } from 'floodgate';
import { VirtualClock, VirtualStore } from 'floodgate/testing';
import { RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { CapturedLogs, PLATFORMS, start } from '../support/http-app.js';
import { unhandledRejections } from '../support/node-warnings.js';
import { type AnswerEarly, NAMES, SERVERS } from './support/servers.js';

const ONE = { name: 'one', algorithm: 'fixed-window', limit: 1, window: '1d', by: 'global' } as const;
const DEADLINE = '10s';

const closing: (() => PromiseLike<unknown>)[] = [];
let rejected: () => Promise<unknown[]>;
beforeEach(() => {
  rejected = unhandledRejections();
});
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
  const troubles = await rejected();
  if (troubles.length > 0) throw new Error(troubles.map(String).join('\n'));
});

/** A timeout of the application answers while the limiter decides. */
describe.each(NAMES)('a request of %s that is answered before its decision', (name) => {
  /** @param meanwhile answers the request, and resolves when the decision may come */
  const serve = async (fits: boolean, meanwhile: (answer: AnswerEarly) => Promise<unknown>): Promise<Served> => {
    let answer!: AnswerEarly;
    let entered = 0;
    const limiter = await createLimiter({
      store: new VirtualStore(new VirtualClock()),
      logger: new CapturedLogs(),
      deadline: DEADLINE,
    });
    await limiter.start();
    const cost = async (): Promise<number> => {
      await meanwhile(answer);
      return fits ? 1 : 2;
    };
    const handler = (): Promise<number> => {
      entered++;
      return new Promise(() => {});
    };
    const server = await SERVERS[name](limiter, [[{ ...ONE, cost }]], handler, (one) => (answer = one));
    closing.push(
      () => limiter.close(),
      () => server[Symbol.asyncDispose](),
    );
    return {
      url: `${server.url}/handler`,
      async decided() {
        await until('it is decided', 10_000, () => limiter.stats().requests === 1);
        for (let i = 0; i < 5; i++) await turn();
        expect(server.errors).toEqual([]);
        return entered;
      },
    };
  };

  it.each([true, false])('goes no further (it fits: %s)', async (fits) => {
    const { url, decided } = await serve(fits, async (answer) => {
      answer('late');
      await received;
    });
    const received = fetch(url).then(async (response) => [response.status, await response.text()]);
    expect(await received).toEqual([504, 'late']);
    expect(await decided()).toBe(0);
  });

  it.each([true, false])('keeps the answer that has begun (it fits: %s)', async (fits) => {
    const body = new PassThrough();
    const { url, decided } = await serve(fits, async (answer) => {
      body.write('la');
      answer(body);
      await received;
    });
    const received = fetch(url);
    const response = await received;
    expect(await decided()).toBe(fits ? 1 : 0);
    body.end('te');
    expect([response.status, await response.text()]).toEqual([504, 'late']);
  });
});

interface Served {
  readonly url: string;
  /** How many handlers ran once the decision has come. */
  readonly decided: () => Promise<number>;
}

it.each(PLATFORMS.flatMap((platform) => [true, false].map((fits) => [platform, fits] as const)))(
  'a request of Nest over %s that is answered before its decision goes no further (it fits: %s)',
  async (platform, fits) => {
    let answer!: () => void;
    let entered = 0;
    const cost = async (): Promise<number> => {
      answer();
      await received;
      return fits ? 1 : 2;
    };
    @Controller()
    class Routes {
      @Get()
      @RateLimit({ ...ONE, cost })
      read(): number {
        return ++entered;
      }
    }
    const app = await start(
      platform,
      {
        imports: [RateLimitModule.forRoot({ store: new VirtualStore(new VirtualClock()), deadline: DEADLINE })],
        controllers: [Routes],
      },
      {
        configure: (nest) =>
          nest.use((_: unknown, response: { statusCode: number; end(body: string): void }, next: () => void) => {
            answer = () => {
              response.statusCode = 504;
              response.end('late');
            };
            next();
          }),
      },
    );
    closing.push(() => app.close());
    const received = fetch(`http://127.0.0.1:${app.port}/`).then((response) => response.text());
    expect(await received).toBe('late');
    await until('it is decided', 10_000, () => app.app.get(RateLimiter).stats().requests === 1);
    for (let i = 0; i < 5; i++) await turn();
    expect([entered, app.logs.of('error')]).toEqual([0, []]);
  },
);
