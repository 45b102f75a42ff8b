import { expect, it } from '@jest/globals';
import { Processes } from '../support/processes.js';
import type { procedures, Sender } from './workers/dropped-answers.js';

const SCRIPT = new URL('./workers/dropped-answers.ts', import.meta.url);

it('a place is free again once the answer that held it is garbage', async () => {
  await using processes = await Processes.start<typeof procedures>(SCRIPT, 1);
  for (const sender of ['fetch', 'a fetch of its own', 'axios by an adapter'] satisfies Sender[]) {
    expect([sender, ...(await processes.one(0, 'freed', sender))]).toEqual([sender, 0, 4]);
  }
});
