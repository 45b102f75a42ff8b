import { beforeEach, expect, it, jest } from '@jest/globals';
import { MemoryOverrideLog } from '../../stores/memory/override-log.js';
import type { OverrideChanges, OverrideLog, OverrideOutcome } from '../../stores/override-log.js';
import { ActiveOverrides } from './active-overrides.js';
import { bodyText, overrideId } from './override-text.js';
import { OverrideWatch } from './override-watch.js';

/** A log whose answers to `poll` come when a test lets them. */
class HeldLog extends MemoryOverrideLog {
  override readonly shared = true;
  private readonly held: (() => void)[] = [];
  holds = false;

  override async poll(known: string, heard: string): Promise<OverrideChanges> {
    const answer = await super.poll(known, heard);
    if (this.holds) await new Promise<void>((resolve) => this.held.push(resolve));
    return answer;
  }

  release(): void {
    this.holds = false;
    for (const resolve of this.held.splice(0)) resolve();
  }
}

const logger = { log: () => undefined, warn: () => undefined, error: () => undefined };
const KEY = { policy: 'api', identity: 'user:ada', scope: undefined };

async function write(log: OverrideLog, capacity: number | undefined, key = KEY): Promise<OverrideOutcome> {
  const change = capacity === undefined ? undefined : { capacity };
  const one = { id: overrideId(key), ifVersion: undefined, body: bodyText({ ...key, change }) };
  return capacity === undefined ? log.remove(one) : log.set(one, undefined);
}

// What reads the clock of a change stays real.
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['Date', 'performance', 'setImmediate', 'nextTick'] }));

it.each([
  ['a removal', undefined, 0],
  ['a later change', 9, 1],
])('lets no answer from before undo %s of this process', async (_, capacity, size) => {
  const log = new HeldLog();
  const active = new ActiveOverrides(logger);
  const watch = new OverrideWatch(log, active, logger);
  await watch.start();
  await write(log, 5); // by another process
  log.holds = true;
  await jest.advanceTimersByTimeAsync(500);
  const outcome = await write(log, capacity);
  if (outcome.outcome === 'changed') watch.changed(outcome.record, outcome.nowMs, active.readProcessMs());
  log.release();
  await jest.advanceTimersByTimeAsync(0);
  expect(active.size).toBe(size);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(active.size).toBe(size);
  watch.stop();
});

it('obeys what others have changed meanwhile, and reads all again when a change of its own is missing', async () => {
  const log = new HeldLog();
  const active = new ActiveOverrides(logger);
  const watch = new OverrideWatch(log, active, logger);
  await watch.start();
  for (const user of ['user:bob', 'user:eve']) await write(log, 5, { ...KEY, identity: user });
  // Simulates a failover: this process was told that its change was made, but the log has lost it.
  const { records, version } = await log.history(undefined, 1);
  const lost = { ...records[0]!, version: Number(version) - 1, body: bodyText({ ...KEY, change: { capacity: 7 } }) };
  watch.changed(lost, Date.now(), active.readProcessMs());
  expect(active.size).toBe(1);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(active.size).toBe(2);
  watch.stop();
});

it('drops what a process has removed whose words it cannot read', async () => {
  const log = new HeldLog();
  const active = new ActiveOverrides(logger);
  const watch = new OverrideWatch(log, active, logger);
  await watch.start();
  const others = ['user:bob', 'user:eve'].map((identity) => ({ ...KEY, identity }));
  for (const key of [KEY, ...others]) await write(log, 5, key);
  await jest.advanceTimersByTimeAsync(500);
  expect(active.size).toBe(3);
  await log.remove({ id: overrideId(KEY), ifVersion: undefined, body: 'c2VjcmV0' });
  await write(log, undefined, others[0]);
  await jest.advanceTimersByTimeAsync(500);
  expect(active.size).toBe(1);
  watch.stop();
});

it('hears each notice once, and that it has missed some', async () => {
  const log = new HeldLog(undefined, { overrides: 10, changes: 10, notices: 3 });
  await log.tell('before');
  const watch = new OverrideWatch(log, new ActiveOverrides(logger), logger);
  const heard: (string | undefined)[] = [];
  watch.onNotice = (notice) => void heard.push(notice);
  await watch.start();
  expect(heard).toEqual([undefined]);
  await log.tell('one');
  await log.tell('two');
  await jest.advanceTimersByTimeAsync(500);
  expect(heard).toEqual([undefined, 'one', 'two']);
  await jest.advanceTimersByTimeAsync(5_000);
  for (const notice of ['three', 'four', 'five', 'six']) await log.tell(notice);
  await jest.advanceTimersByTimeAsync(5_000);
  expect(heard).toEqual([undefined, 'one', 'two', undefined]);
  watch.stop();
});
