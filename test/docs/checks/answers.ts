import type { Type } from '@nestjs/common';
import { expect } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import { withLimiter } from '../support/serve.js';

interface Answers {
  answer(userId: string, prompt: string, model: object): Promise<unknown>;
}

export async function check(_: unknown, { Answers }: { Answers: Type<Answers> }): Promise<void> {
  await using app = await withLimiter({}, { providers: [Answers] });
  const answers = app.app.get(Answers);
  const limiter = app.app.get(RateLimiter);
  const policy = { name: 'llm-tokens', algorithm: 'token-bucket', capacity: 20_000, refill: '20000/h' } as const;
  const left = async (user: string): Promise<number> =>
    (await limiter.peek(policy, { kind: 'user', value: user })).policies[0]!.remaining;
  const model = (total: number, then: () => void = () => undefined): object => ({
    answer: async (): Promise<object> => {
      expect(await left('ada')).toBeLessThan(18_001);
      then();
      return { text: 'yes', usage: { total } };
    },
  });
  expect(await answers.answer('ada', 'why?', model(150))).toBe('yes');
  expect(Math.abs((await left('ada')) - 19_850)).toBeLessThan(3);
  const fails = model(1, () => {
    throw new Error('overloaded');
  });
  await expect(answers.answer('ada', 'why?', fails)).rejects.toThrow('overloaded');
  expect(Math.abs((await left('ada')) - 19_850)).toBeLessThan(10);
  await answers.answer('ada', 'why?', model(30_000));
  expect(await left('ada')).toBe(0);
  expect(await answers.answer('ada', 'why?', model(1))).toMatchObject({ allowed: false });
}
