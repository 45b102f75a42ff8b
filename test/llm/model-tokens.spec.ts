import { Body, Controller, Post, ServiceUnavailableException } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { modelTokens } from 'nestjs-floodgate/llm';
import { until } from '../support/faults/until.js';
import { PLATFORMS, start } from '../support/http-app.js';

const TOKENS = { algorithm: 'fixed-window', limit: 100_000, window: '300d', by: 'global', scope: 'app' } as const;

@Controller()
class Chats {
  @Post('chat')
  @RateLimit({ name: 'tokens', ...TOKENS, ...modelTokens() })
  chat(@Body() { says }: { says: unknown }): unknown {
    if (says === 'no model') throw new ServiceUnavailableException();
    if (says === 'odd answer') throw new Error('it is no JSON');
    return says;
  }
}

it.each(PLATFORMS)(
  'a route pays an estimate of its body, and in the end what its answer has used, over %s',
  async (platform) => {
    await using app = await start(platform, {
      imports: [RateLimitModule.forRoot({ policies: { tokens: TOKENS } })],
      controllers: [Chats],
    });
    const limiter = app.app.get(RateLimiter);
    const used = async (): Promise<number> =>
      TOKENS.limit - (await limiter.peek('tokens', null)).policies[0]!.remaining;
    const ask = (says: unknown): Promise<unknown> =>
      fetch(`http://127.0.0.1:${app.port}/chat`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ max_tokens: 50, says }),
      }).then((response) => response.text());
    for (const [says, total] of [
      [{ usage: { prompt_tokens: 10, completion_tokens: 200 } }, 210],
      ['no model', 210],
      ['abcdef', 210 + 8 + 50], // it says nothing: the estimate stays
      ['odd answer', 268 + 9 + 50], // nobody knows what it has used
    ] as const) {
      await ask(says);
      expect(await until(`${total} tokens`, 10_000, async () => (await used()) === total)).toBe(true);
    }
  },
);
