import { describe, expect, it } from '@jest/globals';
import { CONVERSATION, type Line, ROUTES } from './support/conversation.js';
import { type Answer, AppFolder, ServedApp } from './support/served-app.js';

const TIMEOUT_MS = 120_000;

/** The whole switch. */
const switched = (source: string): string => source.replaceAll("'@nestjs/throttler'", "'nestjs-floodgate/throttler'");

async function held(folder: AppFolder, platform: string): Promise<{ answers: Answer[]; logged: string }> {
  await using app = await ServedApp.start(folder, platform);
  return { answers: await app.hold(CONVERSATION), logged: app.logged };
}

/** Lines and answers side by side, so that a difference says where it is. */
function transcript(answers: readonly Answer[]): (Line & Answer)[] {
  return CONVERSATION.map((line, i) => ({ ...line, ...answers[i]! }));
}

describe('an application of 30 routes on @nestjs/throttler', () => {
  it.each(['Express', 'Fastify'])(
    'answers the same over %s once its imports name nestjs-floodgate/throttler, and compiles',
    async (platform) => {
      await using folder = await AppFolder.make();
      const before = await held(folder, platform);
      await folder.rewrite(switched);
      const after = await held(folder, platform);
      expect(transcript(after.answers)).toEqual(transcript(before.answers));
      expect(after.logged).not.toMatch(/error/i);
      expect(await folder.typeErrors()).toBe('');

      // The conversation says something: every route passes, and every route that is limited rejects.
      const seen = (status: (status: number) => boolean): Set<string> =>
        new Set(
          CONVERSATION.flatMap(({ method, path }, i) => (status(before.answers[i]!.status) ? `${method} ${path}` : [])),
        );
      expect(seen((status) => status !== 429).size).toBe(ROUTES.length);
      expect(seen((status) => status === 429).size).toBe(ROUTES.length - 2);
      const headers = new Set(before.answers.flatMap((answer) => Object.keys(answer.headers)));
      expect([...headers]).toEqual(
        expect.arrayContaining(['x-ratelimit-reset', 'x-ratelimit-limit-short', 'retry-after', 'retry-after-hourly']),
      );
    },
    TIMEOUT_MS,
  );
});
