import { Controller, Get, type NestApplicationOptions } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { RATE_LIMIT_HEADERS, RateLimit, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { type HttpApp, limited, PLATFORMS, type Reply, type SendOptions } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const ONE = { name: 'one', algorithm: 'token-bucket', capacity: 1, refill: '1/m' } as const;
const ALL = { ...ONE, name: 'all' };
const PAGE: SendOptions = { headers: { Origin: 'https://page.test' } };

@Controller()
class Routes {
  @Get('limited')
  @RateLimit(ONE)
  limited(): string {
    return 'passed';
  }

  @Get('free')
  free(): string {
    return 'passed';
  }
}

/** The names that a script may read, in lower case. */
function exposed({ headers }: Reply): string[] {
  const list = headers['access-control-expose-headers'];
  return list === undefined ? [] : list.toLowerCase().split(/ *, */);
}

type CorsOptions = Exclude<NonNullable<NestApplicationOptions['cors']>, boolean>;

const NAMES = RATE_LIMIT_HEADERS.map((name) => name.toLowerCase());

describe.each(PLATFORMS)('over %s', (platform) => {
  const open = (cors: CorsOptions, options: RateLimitModuleOptions = {}): Promise<HttpApp> =>
    limited(platform, Routes, { store: new StillStore(), ...options }, { configure: (app) => app.enableCors(cors) });

  it('a page of another origin may read the names in exposedHeaders, of allowed and of rejected requests', async () => {
    await using app = await open({ origin: ['https://page.test'], exposedHeaders: ['ETag', ...RATE_LIMIT_HEADERS] });
    for (const status of [200, 429]) {
      const reply = await app.send('/limited', PAGE);
      expect([reply.status, reply.headers['access-control-allow-origin']]).toEqual([status, 'https://page.test']);
      expect(exposed(reply)).toEqual(['etag', ...NAMES]);
    }
  });

  describe('with policies of the middleware, which runs before CORS', () => {
    const before = { middleware: [ALL] };

    it('a page reads what passes, but not a rejection, as documented', async () => {
      await using app = await open({ exposedHeaders: [...RATE_LIMIT_HEADERS] }, before);
      const passed = await app.send('/free', PAGE);
      expect([passed.status, passed.headers['access-control-allow-origin'], exposed(passed)]).toEqual([
        200,
        '*',
        NAMES,
      ]);
      const rejected = await app.send('/free', PAGE);
      expect([rejected.status, rejected.headers['retry-after']]).toEqual([429, '60']);
      expect(rejected.headers).not.toHaveProperty('access-control-allow-origin');
    });
  });
});
