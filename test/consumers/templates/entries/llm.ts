import { strictEqual } from 'node:assert';
import { createLimiter } from 'nestjs-floodgate';
import { limitModel } from 'nestjs-floodgate/llm';

const TOKENS = { algorithm: 'fixed-window', limit: 100, window: '300d', by: 'global' } as const;

/** Calls a pretend model, whose answer says what it used. */
export async function useLlm(): Promise<void> {
  const limiter = await createLimiter({ policies: { tokens: TOKENS } });
  try {
    const chat = limitModel(limiter, { tokens: 'tokens' });
    const request = { model: 'pretend', max_tokens: 20, messages: [{ role: 'user', content: 'hello' }] };
    await chat(null, request, () => ({ usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } }));
    const { policies } = await limiter.peek('tokens', null);
    strictEqual(policies[0]?.remaining, 88);
  } finally {
    await limiter.close();
  }
}
