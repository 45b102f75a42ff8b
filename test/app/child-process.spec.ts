import { beforeEach, expect, it } from '@jest/globals';
import { Child } from '../../demo/processes/child.js';
import { until } from '../support/faults/until.js';
import type { AnsweringProcedures } from './support/answering.js';

const SCRIPT = new URL('./support/answering.ts', import.meta.url);

// The child runs TypeScript as Jest does.
beforeEach(() => {
  process.env['NODE_OPTIONS'] = `--import ${new URL('../support/typescript-loader.js', import.meta.url).href}`;
});

const startOne = (): Promise<Child<AnsweringProcedures>> =>
  Child.start<AnsweringProcedures>({ name: 'The child', script: SCRIPT });

it('leaves the debugger to the process that was started with it', async () => {
  process.env['NODE_OPTIONS'] += ` --inspect-port=0 --inspect`;
  await using child = await startOne();
  expect(await child.call('inspector')).toBeUndefined();
});

it('says how a process ended to every call, also to those after its end', async () => {
  await using child = await startOne();
  const calls = [child.call('end'), child.call('inspector')];
  for (const call of calls) await expect(call).rejects.toThrow('The child ended (3)');
  await expect(child.call('inspector')).rejects.toThrow('The child ended (3)');
});

it('kills a process that does not answer within the limit of a call, with all its calls', async () => {
  await using child = await startOne();
  expect(await child.call('inspector', undefined, 10_000)).toBeUndefined();
  const calls = [child.call('hang'), child.call('hang', undefined, 300)];
  for (const call of calls) await expect(call).rejects.toThrow(/^The child has not answered for 0.3 s:/);
  expect(() => child.assertRunning()).toThrow('The child has not answered for 0.3 s');
});

it('kills a process that hangs while it starts', async () => {
  const script = new URL('./support/hanging.ts', import.meta.url);
  const running = (): number => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
  const before = running();
  const starting = Child.start({ name: 'The child', script, startLimitMs: 3_000 });
  expect(running()).toBe(before + 1);
  await expect(starting).rejects.toThrow(/^The child has not started for 3 s:/);
  await until('the process has ended', 10_000, () => running() === before);
});

it('rejects when this process can open no files, and ends nothing', async () => {
  await using child = await startOne();
  expect(await child.call('startWithoutFiles')).toMatch(/EMFILE|ENFILE/);
  expect(await child.call('inspector')).toBeUndefined();
});
