import { expect } from '@jest/globals';
import { until } from '../../support/faults/until.js';
import type { HttpApp } from '../../support/http-app.js';

const CAPACITY = 10_000;
const ESTIMATE = 2_000;

export async function check(app: HttpApp): Promise<void> {
  const { text, headers } = await app.send('/probe/answers');
  expect(text.match(/^data: .*/gm)).toHaveLength(3);
  expect(headers['x-ratelimit-remaining']).toBe(String(CAPACITY - ESTIMATE));
  // The last event says 150. Clients that hang up after the first one are charged 50, or what was sent meanwhile.
  let most = CAPACITY - ESTIMATE - 150;
  for (let i = 0; i < 3; i++) {
    await until('what the last event says', 5_000, async () => {
      const remaining = await hangUp(app);
      const isSettled = remaining > most - ESTIMATE / 2 && remaining < most + 50;
      if (isSettled) most = remaining - 50;
      return isSettled;
    });
  }
}

/** Leaves after the first event. Returns what remained. */
async function hangUp({ port }: HttpApp): Promise<number> {
  const abort = new AbortController();
  const response = await fetch(`http://127.0.0.1:${port}/probe/answers`, { signal: abort.signal });
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ''; !text.includes('data: ');) text += (await reader.read()).value;
  abort.abort();
  return Number(response.headers.get('x-ratelimit-remaining'));
}
