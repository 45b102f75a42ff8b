import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from '@jest/globals';

const CAPACITY = 20;

/** A server without Nest admits its burst, and then rejects. One that loses Redis meanwhile may admit a second burst. */
export async function check(_: unknown, { server }: { server: Server }): Promise<void> {
  const { port } = server.address() as AddressInfo;
  const answers: Response[] = [];
  for (let i = 0; i < 3 * CAPACITY; i++) {
    const answer = await fetch(`http://127.0.0.1:${port}/`);
    if (answer.status === 200) expect(await answer.text()).toBe('Hello!');
    answers.push(answer);
  }
  const passed = answers.filter(({ status }) => status === 200).length;
  expect(passed).toBeGreaterThanOrEqual(CAPACITY);
  expect(passed).toBeLessThanOrEqual(2 * CAPACITY);
  const { status, headers } = answers.at(-1)!;
  expect(status).toBe(429);
  expect(headers.get('x-ratelimit-limit')).toBe(String(CAPACITY));
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
}
