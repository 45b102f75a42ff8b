import { All, Controller, Next, Post } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { type Policy, RateLimit, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { limited } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { policiesOf } from '../support/told-store.js';

const WINDOW = { algorithm: 'fixed-window', window: '1h' } as const;
const STRICT: Policy = { ...WINDOW, name: 'strict', limit: 5 };
const SHARED: Policy = { ...WINDOW, name: 'shared', limit: 10, scope: 'app' };

// Express alone has next(): over Fastify one handler answers a request.
it.each<[string, Policy[], Policy[], string[][], RateLimitModuleOptions]>([
  ['by its own policies as well', [{ ...WINDOW, name: 'wide', limit: 100 }], [STRICT], [['wide'], ['strict']], {}],
  ['once by a policy that both have', [SHARED], [SHARED, STRICT], [['shared'], ['strict']], {}],
  ['where the first handler is not limited', [], [STRICT], [['strict']], {}],
  ['so with an allow list', [], [STRICT], [['strict']], { allowList: ['192.0.2.1'] }],
])(
  'over Express, a handler that another one passes a request on to is charged %s',
  async (_, first, then, asked, options) => {
    const Limited = (policies: readonly Policy[]): MethodDecorator =>
      policies.length === 0 ? () => {} : RateLimit(...(policies as [Policy]));
    const entered = { all: 0, login: 0 };

    @Controller()
    class Routes {
      @All('*splat')
      @Limited(first)
      all(@Next() next: () => void): void {
        entered.all++;
        next();
      }

      @Post('login')
      @Limited(then)
      login(): void {
        entered.login++;
      }
    }
    const store = new StillStore();
    await using app = await limited('Express', Routes, { store, ...options });
    expect(await app.statuses(8, '/login', { method: 'POST' })).toEqual([201, 201, 201, 201, 201, 429, 429, 429]);
    expect(entered).toEqual({ all: 8, login: 5 });
    expect(policiesOf(store.asked)).toEqual(Array.from({ length: 8 }, () => asked).flat());
    expect(app.logs.of('error')).toEqual([]);
  },
);
