import { describe, expect, it, jest } from '@jest/globals';
import { array, assert, asyncProperty, constantFrom, integer, record } from 'fast-check';
import { expectSame } from '../../../../../test/support/expect-same.js';
import { histories } from '../../../../../test/support/property-runs.js';
import { MemoryOverrideLog } from '../../stores/memory/override-log.js';
import type { OverrideLog, OverrideWrite } from '../../stores/override-log.js';
import { IdentitySecret } from './identity-secret.js';
import { SealedOverrideLog } from './sealed-override-log.js';

const OLD = 'an old secret, of more than 32 bytes';
const NEW = 'a newer secret, of more than 32 bytes';

const NEWEST = 'the newest secret, of more than 32 bytes';

type Given = ConstructorParameters<typeof IdentitySecret>[0];

/** The pods of deploys: without a secret, with one, those of a rotation, and those of a second rotation. */
const PODS = [undefined, OLD, [OLD, NEW], [NEW, OLD], [NEWEST, NEW, OLD]] as const;

const [ADA, BOB] = ['user:ada\napi\n', 'user:bob\napi\n'] as const;

interface Step {
  readonly pod: number;
  readonly id: string;
  readonly does: 'set' | 'remove' | 'get';
  /** The version that the change expects: the one that is there, none, or another one; undefined: any. */
  readonly expects: 'known' | 'none' | 'wrong' | undefined;
  readonly number: number;
}

const step = record<Step>({
  pod: constantFrom(...PODS.keys()),
  id: constantFrom(ADA, BOB),
  does: constantFrom('set', 'set', 'remove', 'get'),
  expects: constantFrom(undefined, undefined, 'known', 'none', 'wrong'),
  number: integer({ min: 1, max: 99 }),
});

/** What a step is answered, without the versions: a change under another secret takes two. */
async function answerOf(log: OverrideLog, { id, does, expects, number }: Step): Promise<unknown> {
  const there = await log.get(id);
  if (does === 'get') return there?.body;
  const version = there?.version ?? 0;
  const ifVersion = { known: version, none: 0, wrong: version + 1 };
  const write = { id, body: JSON.stringify({ number }), ifVersion: expects && ifVersion[expects] };
  const outcome = does === 'set' ? await log.set(write, undefined) : await log.remove(write);
  if (outcome.outcome === 'conflict') return { outcome: 'conflict', isCurrent: outcome.version === version };
  return outcome.outcome === 'changed' ? [outcome.record.removed, outcome.record.body] : outcome;
}

async function bodiesOf(log: OverrideLog): Promise<readonly string[]> {
  return (await log.page(0, 100)).records.map(({ body }) => body).toSorted();
}

describe('a log of overrides under a secret', () => {
  it('answers as one without, while pods come to have the secret, and then the next one', async () => {
    await assert(
      asyncProperty(array(step, { maxLength: 12 }), async (steps) => {
        const [kept, plain] = [new MemoryOverrideLog(), new MemoryOverrideLog()];
        const pods = PODS.map((given) => (given === undefined ? kept : sealed(kept, given)));
        let pod = 0;
        for (const one of steps) {
          pod = Math.max(pod, one.pod); // a deploy goes one way
          expectSame(await answerOf(pods[pod]!, one), await answerOf(plain, one));
          expectSame(await bodiesOf(pods[pod]!), await bodiesOf(plain));
        }
      }),
      histories(4),
    );
  });

  it('changes the later one of two that pods without and with the next secret have set', async () => {
    const kept = new MemoryOverrideLog();
    const [old, both] = [sealed(kept, OLD), sealed(kept, [NEW, OLD])];
    const write = (number: number, ifVersion?: number): OverrideWrite => ({
      id: ADA,
      body: `{"n":${number}}`,
      ifVersion,
    });
    for (const does of ['set', 'remove'] as const) {
      await both.set(write(1), undefined);
      await old.set(write(2), undefined);
      const { version } = (await both.get(ADA))!;
      expect(await both[does](write(3, version - 1), undefined)).toEqual({ outcome: 'conflict', version });
      expect(await both[does](write(3, version), undefined)).toMatchObject({ outcome: 'changed' });
      expect(await bodiesOf(kept)).toHaveLength(does === 'set' ? 1 : 0);
      expect((await both.get(ADA))?.body).toBe(does === 'set' ? '{"n":3}' : undefined);
    }
  });

  it('asks for names while there are overrides under them, and only then', async () => {
    const kept = new MemoryOverrideLog();
    const asked = jest.spyOn(kept, 'get');
    const named = (): boolean => asked.mock.calls.splice(0).some(([id]) => id.includes('ada'));
    const body = '{"policy":"api"}';
    const use = async (log: OverrideLog): Promise<readonly (string | undefined)[]> => {
      await log.set({ id: BOB, body, ifVersion: undefined }, undefined);
      const found = (await log.get(ADA))?.body;
      await log.remove({ id: ADA, body, ifVersion: undefined });
      return [found, (await log.get(ADA))?.body];
    };
    const log = sealed(kept, OLD);
    expect([await use(log), named()]).toEqual([[undefined, undefined], false]);

    await kept.set({ id: ADA, body, ifVersion: undefined }, undefined);
    expect([await use(sealed(kept, OLD)), named()]).toEqual([[body, undefined], true]);
    await kept.set({ id: ADA, body, ifVersion: undefined }, undefined);
    await log.poll('', '');
    await log.page(0, 10);
    expect([await use(log), named()]).toEqual([[body, undefined], true]);
    expect([await use(sealed(kept, OLD)), named()]).toEqual([[undefined, undefined], false]);
  });

  it('searches for overrides under names behind what was read, and no override twice', async () => {
    const kept = new MemoryOverrideLog();
    const log = sealed(kept, OLD);
    for (let i = 0; i < 5; i++) await log.set({ id: `user:${i}\napi\n`, body: '{}', ifVersion: undefined }, undefined);
    const pod = sealed(kept, OLD);
    const { records } = await pod.page(0, 3);
    await pod.page(records.at(-1)!.version + 1, 1); // leaves the fourth one out
    const read = jest.spyOn(kept, 'page');
    for (let i = 0; i < 3; i++) await pod.get(ADA);
    const pages = await Promise.all(read.mock.results.map(({ value }) => value as ReturnType<OverrideLog['page']>));
    expect(pages.map((page) => page.records.length)).toEqual([2, 0, 0, 0]);
  });

  it('searches again for overrides under names when the log has not answered', async () => {
    const kept = new MemoryOverrideLog();
    await kept.set({ id: ADA, body: '{}', ifVersion: undefined }, undefined);
    jest.spyOn(kept, 'page').mockRejectedValueOnce(new Error('no answer'));
    const log = sealed(kept, OLD);
    await expect(log.get(ADA)).rejects.toThrow('no answer');
    expect((await log.get(ADA))?.body).toBe('{}');
  });

  it.each<readonly [Given, Given]>([
    [OLD, [OLD, NEW]],
    [
      [OLD, NEW],
      [NEW, OLD],
    ],
    [[NEW, OLD], NEW],
  ])('is read by each pod of a step of a rotation as the other writes it: %j and %j', async (one, next) => {
    const kept = new MemoryOverrideLog();
    const pods = [sealed(kept, one), sealed(kept, next)];
    await pods[0]!.set({ id: BOB, body: '{}', ifVersion: undefined }, undefined); // so that there is a version to know
    const heard = pods.map(async (pod) => {
      const { version } = await pod.poll('', '0');
      return async () => (await pod.poll(version, '0')).records.map(({ removed, body }) => [removed, body]);
    });
    const write = { id: ADA, body: '{"n":1}', ifVersion: undefined };
    for (const [writer, reader] of [pods, pods.toReversed()] as const) {
      await writer!.set(write, undefined);
      expect((await reader!.get(ADA))?.body).toBe(write.body);
      expect(await writer!.remove(write)).toMatchObject({ outcome: 'changed' });
    }
    for (const changes of await Promise.all(heard)) {
      expect(await changes()).toEqual([false, true, false, true].map((removed) => [removed, write.body]));
    }
  });

  it('tells what all pods can read, and keeps a notice encrypted that cannot be read', async () => {
    const kept = new MemoryOverrideLog();
    const [old, both, renewed] = [sealed(kept, OLD), sealed(kept, [NEW, OLD]), sealed(kept, NEW)];
    const heard = async (log: OverrideLog): Promise<unknown> => (await log.poll('0', '0')).notices;
    await old.tell('user:ada');
    expect(await Promise.all([kept, old, both, renewed].map(heard))).toEqual([
      [expect.not.stringContaining('ada')],
      ['user:ada'],
      ['user:ada'],
      [expect.not.stringMatching(/ada|:/)],
    ]);
    await both.tell('user:bob');
    expect(await Promise.all([old, both].map(heard))).toEqual([
      ['user:ada', expect.not.stringMatching(/bob|:/)],
      ['user:ada', 'user:bob'],
    ]);
  });
});

function sealed(log: OverrideLog, secret: Given): OverrideLog {
  return new SealedOverrideLog(log, new IdentitySecret(secret, 'rl'));
}
