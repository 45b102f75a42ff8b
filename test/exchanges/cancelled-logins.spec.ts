import { once } from 'node:events';
import { type ClientHttp2Stream, connect } from 'node:http2';
import { Controller, Post, UnauthorizedException } from '@nestjs/common';
import { beforeEach, expect, it, jest } from '@jest/globals';
import { type Outcome, type Policy, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { Gate } from './support/stage.js';
import { startHttp2 } from './transports/http2.js';

jest.setTimeout(60_000);

const LIMIT_MS = 20_000;
const GUESSES = 200;
const CANCEL = 8;

let outcomes: Outcome[] = [];
const LOGIN = { name: 'login', algorithm: 'sliding-window-log', limit: 5, window: '15m', scope: 'app' } as const;
/** The policy of docs/settling.md. */
const FAILED_LOGINS: Policy = {
  ...LOGIN,
  countIf: (outcome) => {
    outcomes.push(outcome);
    return outcome.status === 401 || outcome.aborted;
  },
};

const gate = new Gate();
let entered = 0;
beforeEach(() => {
  [outcomes, entered] = [[], 0];
});

@Controller()
class Accounts {
  @Post('login')
  @RateLimit(FAILED_LOGINS)
  async login(): Promise<never> {
    entered++;
    await gate.pass(undefined);
    throw new UnauthorizedException();
  }
}

it('lets 5 of 200 guesses reach the handler, though each is cancelled over HTTP/2 before its answer', async () => {
  await using app = await startHttp2({ imports: [RateLimitModule.forRoot()], controllers: [Accounts] });
  const session = connect(`http://127.0.0.1:${app.port}`).on('error', () => {});
  const limiter = app.app.get(RateLimiter);
  using _ = {
    [Symbol.dispose]: () => {
      gate.open();
      session.destroy();
    },
  };
  gate.close();
  let rejected = 0;
  for (let i = 1; i <= GUESSES; i++) {
    const stream: ClientHttp2Stream = session.request({ ':path': '/login', ':method': 'POST' }).on('error', () => {});
    stream.on('response', ({ ':status': status }) => (rejected += status === 429 ? 1 : 0));
    const closed = once(stream, 'close');
    await until('the guess is decided', LIMIT_MS, () => entered + rejected === i);
    stream.close(CANCEL);
    stream.resume();
    await closed;
    await until('it has ended', LIMIT_MS, () => outcomes.length === entered);
  }
  const { policies } = await limiter.peek(LOGIN, { kind: 'ip', value: '127.0.0.1' });
  expect({ entered, rejected, left: policies[0]!.remaining }).toEqual({ entered: 5, rejected: GUESSES - 5, left: 0 });
  expect(outcomes).toHaveLength(5);
  for (const outcome of outcomes) expect(outcome).toMatchObject({ status: undefined, aborted: true });
});
