import { Controller, Get, Post } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { got } from 'got';
import ky from 'ky';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { Agent, request, RetryAgent } from 'undici';
import { type HttpApp, start } from '../support/http-app.js';

@Controller()
@RateLimit({ algorithm: 'token-bucket', capacity: 1, refill: 2, scope: 'controller' })
class Routes {
  @Get()
  get(): string {
    return 'passed';
  }

  @Post()
  post(): string {
    return 'passed';
  }
}

let app: HttpApp;
let url: string;
let sentAt: number[];

beforeEach(async () => {
  sentAt = [];
  // However long the first two requests take, the second one is rejected, and the third one comes in time.
  const clock = new VirtualClock();
  app = await start(
    'Express',
    { imports: [RateLimitModule.forRoot({ store: new VirtualStore(clock) })], controllers: [Routes] },
    {
      configure: (nest) =>
        nest.use((_request: unknown, _response: unknown, next: () => void) => {
          if (sentAt.push(performance.now()) > 2) clock.advance('500ms');
          next();
        }),
    },
  );
  url = `http://127.0.0.1:${app.port}/`;
});

afterEach(() => app.close());

const agent = new RetryAgent(new Agent({ pipelining: 0, keepAliveTimeout: 10 }));

/** Each with its defaults. With `throwHttpErrors: false` ky does not retry. */
const CLIENTS: { name: string; send: (method: 'GET' | 'POST') => Promise<{ status: number; text: string }> }[] = [
  {
    name: "undici's RetryAgent",
    send: async (method) => {
      const { statusCode, body } = await request(url, { method, dispatcher: agent });
      return { status: statusCode, text: await body.text() };
    },
  },
  {
    name: 'got',
    send: async (method) => {
      const { statusCode, body } = await got(url, { method, throwHttpErrors: false });
      return { status: statusCode, text: body };
    },
  },
  {
    name: 'ky',
    send: async (method) => {
      const response = await ky(url, { method });
      return { status: response.status, text: await response.text() };
    },
  },
];

describe.each(CLIENTS)('$name', ({ send }) => {
  it('waits for the seconds of Retry-After, and passes', async () => {
    expect((await send('GET')).text).toBe('passed');
    expect(await send('GET')).toEqual({ status: 200, text: 'passed' });
    expect(sentAt).toHaveLength(3);
    // The bucket's next token comes after half a second, and the header says a whole one.
    expect(sentAt[2]! - sentAt[1]!).toBeGreaterThanOrEqual(990);
  });

  it('does not repeat a POST', async () => {
    await send('POST');
    const answer = await send('POST').catch((error: { statusCode?: number; response?: Response }) => ({
      status: error.statusCode ?? error.response?.status,
    }));
    expect(answer.status).toBe(429);
    expect(sentAt).toHaveLength(2);
  });
});
