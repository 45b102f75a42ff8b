// One process of a limiter: worker.ts <adapter> <settings>. It answers the requests that its parent sends.
import type { Adapter, Answer } from '../adapter.js';
import { clock } from './asked.js';
import type { Reply, Request } from './pod.js';

const [path, settings] = process.argv.slice(2) as [string, string];
const { default: adapter } = (await import(path)) as { default: Adapter };
const limiter = await adapter.create(JSON.parse(settings));
// An adapter that is wrong is no limiter that breaks its promises.
if (typeof limiter?.consume !== 'function') throw new TypeError('create returns no object with consume');

async function answer({ id, key, cost }: Request): Promise<void> {
  const sent = clock();
  const reply = (said: Omit<Reply, 'id' | 'sent' | 'answered'>): unknown =>
    process.send!({ id, sent, answered: clock(), ...said } satisfies Reply);
  try {
    const { allowed, retryAfterMs }: Answer = await limiter.consume(key, cost);
    reply({ answer: allowed ? 'allowed' : 'rejected', retryAfterMs: retryAfterMs ?? undefined });
  } catch (error) {
    reply({ answer: 'error', error: (error as Error).message });
  }
}

process.on('message', (requests: readonly Request[]) => {
  for (const request of requests) void answer(request);
});
process.on('disconnect', () => process.exit());
process.send!('ready');
