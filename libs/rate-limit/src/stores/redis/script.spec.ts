import { describe, expect, it } from '@jest/globals';
import { algorithmOf } from '../../../../../test/support/algorithm-of.js';
import { Deadlines } from '../deadlines.js';
import { Batch } from './batch.js';
import { PROGRAM } from './program.generated.js';
import type { RedisClient } from './redis-client.js';
import { UnusableReplyError } from './reply.js';
import { Script, type ScriptSettings } from './script.js';

const NOW = 1_700_000_000_000_000;
const NOSCRIPT = new Error('NOSCRIPT No matching script. Please use EVAL.');

/** Every call of a client, in order, with the arguments after the script; `answers` are its replies. */
function client(...answers: readonly unknown[]): RedisClient & { readonly calls: [string, ...unknown[]][] } {
  const calls: [string, ...unknown[]][] = [];
  const call =
    (name: string) =>
    async (text: string, ...args: unknown[]): Promise<unknown> => {
      calls.push([name === 'evalsha' || text === PROGRAM ? name : 'another script', ...args]);
      const answer = answers[calls.length - 1];
      if (answer instanceof Error) throw answer;
      return answer;
    };
  return { calls, evalsha: call('evalsha'), eval: call('eval'), del: async () => 0 };
}

function script(on: RedisClient, settings: Partial<ScriptSettings> = {}): Script {
  return new Script(on, { clock: undefined, maxSkew: 0, deadlines: undefined, ...settings });
}

function batch(key = 'a'): Batch {
  const one = new Batch();
  const algorithm = algorithmOf({ algorithm: 'token-bucket', capacity: 5, refill: 1 });
  one.add({
    charges: [{ key, algorithm, cost: 1 }],
    next: undefined,
    resolve: () => undefined,
    reject: () => undefined,
  });
  return one;
}

describe('Script', () => {
  it("sends the batch once, to be decided by Redis's clock", async () => {
    const on = client([NOW, 0]);
    expect(await script(on).decide(batch())).toEqual([NOW, 0]);
    expect(on.calls).toEqual([['evalsha', 1, 'a', 'redis', '0', ...batch().encodeArguments(undefined)]]);
  });

  it("sends the instant of the application's clock, and the skew", async () => {
    const on = client([NOW, 0]);
    await script(on, { clock: () => NOW, maxSkew: 250_000 }).decide(batch());
    expect(on.calls[0]!.slice(2, 5)).toEqual(['a', String(NOW), '250000']);
  });

  it('sends the program itself, with the same arguments, after NOSCRIPT', async () => {
    const on = client(NOSCRIPT, [NOW, 0]);
    await script(on, { clock: () => NOW }).decide(batch());
    expect(on.calls.map(([name]) => name)).toEqual(['evalsha', 'eval']);
    expect(on.calls[1]!.slice(1)).toEqual(on.calls[0]!.slice(1));
  });

  it.each(['Connection is closed.', 'OOM command not allowed', 'NOPERM', 'BUSY', 'LOADING', 'READONLY'])(
    'sends nothing again after %s',
    async (message) => {
      const on = client(new Error(message), [NOW, 0]);
      await expect(script(on).decide(batch())).rejects.toThrow(message);
      expect(on.calls).toHaveLength(1);
    },
  );

  it('sends nothing again after NOSCRIPT when the deadline has fallen', async () => {
    const on = client(NOSCRIPT, [NOW, 0]);
    let now = 0;
    const tasks: (() => void)[] = [];
    const later = (task: () => void): void => void tasks.push(task);
    const deadlines = new Deadlines(50, { now: () => now, later, turn: later });
    const question = deadlines.ask(() => undefined);
    now = 50;
    for (let i = 0; i < 3; i++) for (const task of tasks.splice(0)) task();
    await expect(script(on, { deadlines }).decide(batch(), question)).rejects.toThrow('NOSCRIPT');
    expect(on.calls).toHaveLength(1);
  });

  it.each<[string, unknown]>([
    ['a status', 'OK'],
    ['a reply without the level', [NOW]],
    ['a reply with a number too many', [NOW, 0, 0]],
    ['an instant in milliseconds', [NOW / 1000, 0]],
  ])('fails with %s', async (_, reply) => {
    await expect(script(client(reply)).decide(batch())).rejects.toThrow(UnusableReplyError);
  });

  it('sends a refund once, whatever Redis answers', async () => {
    const on = client(NOSCRIPT);
    await expect(script(on, { clock: () => NOW }).refund('a', '[[1]]', '[[2,3]]')).rejects.toThrow('NOSCRIPT');
    expect(on.calls).toEqual([['evalsha', 1, 'a', String(NOW), '0', '[[1]]', '', '[[2,3]]']]);
  });
});
