import { once } from 'node:events';
import { connect, type ServerHttp2Stream } from 'node:http2';
import { createConnection } from 'node:net';
import { Controller, Get, Res } from '@nestjs/common';
import { beforeEach, expect, it } from '@jest/globals';
import { type ConcurrencyPolicy, type Outcome, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { RateLimitRuntime } from '../support/runtime.js';
import { startHttp2 } from './transports/http2.js';

const LIMIT_MS = 20_000;
const IP = { kind: 'ip', value: '127.0.0.1' } as const;
const NO_ERROR = 0;
const CANCEL = 8;
/** Its leases outlive the test. */
const FIVE: ConcurrencyPolicy = { name: 'five', algorithm: 'concurrency', limit: 5, lease: '1h', scope: 'app' };
/** More than a stream of HTTP/2 takes before its client reads. */
const LARGE = 'x'.repeat(200_000);

let outcomes: Outcome[] = [];
beforeEach(() => {
  outcomes = [];
});

const COUNTED = {
  name: 'counted',
  algorithm: 'fixed-window',
  limit: 100,
  window: '1h',
  countIf: (outcome: Outcome) => outcomes.push(outcome) > 0,
} as const;

@Controller()
class Answers {
  @Get('text')
  @RateLimit(FIVE, COUNTED)
  text(): string {
    return LARGE;
  }

  @Get('stream')
  @RateLimit(FIVE, COUNTED)
  stream(@Res() reply: { hijack(): void; readonly raw: { readonly stream: ServerHttp2Stream } }): void {
    reply.hijack();
    const { stream } = reply.raw;
    stream.respond({ ':status': 200 });
    stream.end(LARGE);
  }
}

// Node closes a stream that is reset with NO_ERROR, and neither finishes nor destroys it: what it has yet to write never leaves.
it.each(['text', 'stream'].flatMap((path) => [NO_ERROR, CANCEL].map((code) => [path, code] as const)))(
  'over HTTP/2, a %s that its client does not read ends when the client resets it with code %i',
  async (path, code) => {
    await using app = await startHttp2({ imports: [RateLimitModule.forRoot()], controllers: [Answers] });
    const socket = createConnection(app.port, '127.0.0.1').on('error', () => {});
    const session = connect(`http://127.0.0.1:${app.port}`, { createConnection: () => socket }).on('error', () => {});
    // A session that is destroyed waits for its streams, and so would the server.
    using _ = { [Symbol.dispose]: () => socket.resetAndDestroy() };
    for (let i = 1; i <= 12; i++) {
      const stream = session.request({ ':path': `/${path}` }).on('error', () => {});
      const [head] = (await once(stream, 'response')) as [{ ':status': number }];
      expect(head[':status']).toBe(200);
      stream.close(code);
      await until('it has ended', LIMIT_MS / 4, () => outcomes.length === i);
    }
    expect(outcomes.map(({ status, aborted }) => [status, aborted])).toEqual(outcomes.map(() => [200, true]));
    await until('all places are free', LIMIT_MS / 4, async () => {
      const { policies } = await app.app.get(RateLimiter).peek(FIVE, IP);
      return policies[0]!.remaining === 5;
    });
    expect(app.app.get(RateLimitRuntime).parts.leases.size).toBe(0);
  },
);
