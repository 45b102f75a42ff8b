import { type CallHandler, Controller, Get, type NestInterceptor, UseInterceptors } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { type Outcome, RateLimit } from 'nestjs-floodgate';
import { type Observable, retry } from 'rxjs';
import { until } from '../support/faults/until.js';
import { limited } from '../support/http-app.js';

class Retries implements NestInterceptor {
  intercept(_: unknown, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(retry(1));
  }
}

it('a handler that an interceptor calls again has the ending of its last call', async () => {
  let calls = 0;
  const endings: Outcome[] = [];

  @Controller()
  @UseInterceptors(new Retries())
  class Routes {
    @Get()
    @RateLimit({
      name: 'five',
      algorithm: 'fixed-window',
      limit: 5,
      window: '300d',
      settle: (outcome) => {
        endings.push(outcome);
        return outcome.error === undefined ? 1 : 0;
      },
    })
    get(): string {
      if (calls++ % 2 === 0) throw new Error('first');
      return 'served';
    }
  }
  await using app = await limited('Express', Routes);
  const statuses: number[] = [];
  for (let i = 0; i < 6; i++) {
    statuses.push((await app.send('/')).status);
    if (i < 5) await until('the ending is told', 10_000, () => endings.length === i + 1);
  }
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  expect(endings.map(({ value, error }) => [value, error])).toEqual(endings.map(() => ['served', undefined]));
});
