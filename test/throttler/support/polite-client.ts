import { type Line, ROUTES } from './conversation.js';
import type { Answer, ServedApp } from './served-app.js';

const REQUESTS = 24;

/** The longest time that a rejection asks the client to wait: milliseconds. */
function waitMs({ headers }: Answer): number {
  const seconds = Object.entries(headers).filter(([name]) => name.startsWith('retry-after'));
  return Math.max(0, ...seconds.map(([, value]) => Number(value) * 1000));
}

/**
 * Sends requests to every route, one after the other. After a rejection it waits for as long as the answer says.
 *
 * @returns what was said, to be said again, and the answers
 */
export async function askPolitely(app: ServedApp): Promise<{ lines: Line[]; answers: Answer[] }> {
  const lines: Line[] = [];
  const answers: Answer[] = [];
  for (const [method, path] of ROUTES) {
    let advance = 0;
    for (let i = 0; i < REQUESTS; i++) {
      const line = { advance, method, path, headers: { 'user-agent': 'browser' } };
      const [answer] = await app.hold([line]);
      lines.push(line);
      answers.push(answer!);
      advance = answer!.status === 429 ? waitMs(answer!) : 10;
    }
  }
  return { lines, answers };
}
