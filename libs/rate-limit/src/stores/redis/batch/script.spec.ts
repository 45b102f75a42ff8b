import { describe, expect, it } from '@jest/globals';
import { algorithmOf } from '../../../../../../test/support/algorithm-of.js';
import { PROGRAMS } from '../../../../../../test/support/programs.js';
import { Batch } from './batch.js';
import { givenIoredis } from '../clients/ioredis-client.js';
import type { RedisCommands } from '../clients/redis-client.js';
import { PendingSettlement } from './pending-request.js';
import { UnusableReplyError } from './reply.js';
import { Script, type ScriptSettings } from './script.js';

const NOW = 1_700_000_000_000_000;
const NOSCRIPT = new Error('NOSCRIPT No matching script. Please use EVAL.');

/** Every call of a client, in order, with the arguments after the script; `answers` are its replies. */
function client(...answers: readonly unknown[]): RedisCommands & { readonly calls: [string, ...unknown[]][] } {
  const calls: [string, ...unknown[]][] = [];
  const call =
    (name: string) =>
    async (text: string, ...args: unknown[]): Promise<unknown> => {
      calls.push([name === 'evalsha' || PROGRAMS.includes(text) ? name : 'another script', ...args]);
      const answer = answers[calls.length - 1];
      if (answer instanceof Error) throw answer;
      return answer;
    };
  return { calls, evalsha: call('evalsha'), eval: call('eval'), del: async () => 0 };
}

function script(on: RedisCommands, settings: Partial<ScriptSettings> = {}): Script {
  return new Script(givenIoredis(on), { clock: undefined, maxSkew: 0, ...settings });
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
    expect(on.calls).toEqual([['evalsha', 1, 'a', '', '', '3', '1', '1000000', '5000000']]);
  });

  it("sends the instant of the application's clock, and the skew", async () => {
    const on = client([NOW, 0]);
    await script(on, { clock: () => NOW, maxSkew: 250_000 }).decide(batch());
    expect(on.calls[0]!.slice(2, 4)).toEqual(['a', `${NOW} 250000 1 1`]);
  });

  it('sends the program itself, with the same arguments, after NOSCRIPT', async () => {
    const on = client(NOSCRIPT, [NOW, 0]);
    await script(on, { clock: () => NOW }).decide(batch());
    expect(on.calls.map(([name]) => name)).toEqual(['evalsha', 'eval']);
    expect(on.calls[1]!.slice(1)).toEqual(on.calls[0]!.slice(1));
  });

  it.each([
    ['Connection is closed.', 'the connection to Redis is closed'],
    ...['OOM command not allowed', 'NOPERM', 'BUSY', 'LOADING', 'READONLY'].map((message) => [message, message]),
  ])('sends nothing again after %s', async (message, words) => {
    const on = client(new Error(message), [NOW, 0]);
    await expect(script(on).decide(batch())).rejects.toThrow(words);
    expect(on.calls).toHaveLength(1);
  });

  it('sends nothing again after NOSCRIPT when the deadline has fallen', async () => {
    const on = client(NOSCRIPT, [NOW, 0]);
    const call = { isLate: true, maySend: () => false };
    await expect(script(on).decide(batch(), call)).rejects.toThrow('NOSCRIPT');
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

  describe('a settlement', () => {
    const algorithm = algorithmOf({ algorithm: 'token-bucket', capacity: 5, refill: 1 });
    const receipt = { key: 'a', algorithm, cost: 3, at: NOW - 5, resetAt: NOW, refundMarker: [7, 8] };
    const args = [
      1,
      'a',
      String(NOW),
      '0',
      '[["token-bucket",1,1,1,1000000,5000000]]',
      '\x01\x01\x00\x00',
      `[${NOW - 5},${NOW},3,1,9,2,7,8]`,
    ];
    /** In a batch of its own. */
    const settle = (on: ReturnType<typeof client>): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const settling = new Batch();
        settling.add(new PendingSettlement([{ receipt, finalCost: 1, overdraft: 9 }], resolve, reject));
        script(on, { clock: () => NOW })
          .decide(settling)
          .then((reply) => settling.settle(reply, undefined, 0), reject);
      });

    it('is sent once, and read in units of cost', async () => {
      const on = client([NOW, 1_500_000, 4]);
      expect(await settle(on)).toEqual([{ refunded: 1.5, charged: 4 }]);
      expect(on.calls).toEqual([['evalsha', ...args]]);
    });

    it('is sent again only where Redis has run nothing', async () => {
      const on = client(NOSCRIPT, [NOW, 0, 0]);
      expect(await settle(on)).toEqual([{ refunded: 0, charged: 0 }]);
      expect(on.calls).toHaveLength(2);
      const broken = client(new Error('Connection is closed.'));
      await expect(settle(broken)).rejects.toThrow('the connection to Redis is closed');
      expect(broken.calls).toHaveLength(1);
    });

    it.each([[[NOW]], ['OK'], [[NOW, 1]], [[NOW, 1, -1]], [[NOW, 0.5, 0]], [[NOW + 1, 0, 0]], [[NOW, 0, 0, 0]]])(
      'fails with the reply %j',
      async (reply) => {
        await expect(settle(client(reply))).rejects.toThrow(UnusableReplyError);
      },
    );

    it('fails when its key cannot be read', async () => {
      await expect(settle(client([NOW, -2]))).rejects.toThrow('unreadable state');
    });
  });
});
