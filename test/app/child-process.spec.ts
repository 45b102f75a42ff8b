import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Child } from '../../src/processes/child.js';
import type { AnsweringProcedures } from './support/answering.js';

jest.setTimeout(60_000); // processes start in real time, and the machine may be busy

const SCRIPT = new URL('./support/answering.ts', import.meta.url);
const { NODE_OPTIONS } = process.env;

// The child runs TypeScript as Jest does.
beforeEach(() => {
  process.env['NODE_OPTIONS'] = `--import ${new URL('../support/typescript-loader.js', import.meta.url).href}`;
});
afterEach(() => {
  if (NODE_OPTIONS === undefined) delete process.env['NODE_OPTIONS'];
  else process.env['NODE_OPTIONS'] = NODE_OPTIONS;
});

const startOne = (): Promise<Child<AnsweringProcedures>> =>
  Child.start<AnsweringProcedures>({ name: 'The child', script: SCRIPT });

it.each(['--inspect=0', '--inspect-brk=0', '--inspect', '--inspect-port=0 --inspect'])(
  'leaves the debugger of %s to the process that was started with it',
  async (option) => {
    process.env['NODE_OPTIONS'] += ` ${option}`;
    await using child = await startOne();
    expect(await child.call('inspector')).toBeUndefined();
  },
);

it('says how a process ended to every call, also to those after its end', async () => {
  await using child = await startOne();
  const calls = [child.call('end'), child.call('inspector')];
  for (const call of calls) await expect(call).rejects.toThrow('The child ended (3)');
  await expect(child.call('inspector')).rejects.toThrow('The child ended (3)');
});

it('rejects when this process can open no files, and ends nothing', async () => {
  await using child = await startOne();
  expect(await child.call('startWithoutFiles')).toMatch(/EMFILE|ENFILE/);
  expect(await child.call('inspector')).toBeUndefined();
});
