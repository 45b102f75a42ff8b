import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { NestFactory } from '@nestjs/core';
import { create } from 'axios';
import { limitedAxios, limitedFetch, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { answerCalls } from '../../../demo/processes/answer-calls.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const PLACES = 4;
const LONGEST_MS = 10_000;

/** Who sends, and what becomes of the answers: their bodies never end by themselves. */
export type Sender = 'fetch' | 'a fetch of its own' | 'axios by an adapter';

class Root {}

function endless(): ReadableStream {
  return new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('begins')) });
}

/** Takes all places by answers that nobody reads, drops the answers, and returns the places that are free before and after. */
async function freed(sender: Sender): Promise<readonly number[]> {
  const server = createServer((_, response) => void response.write('begins'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const slots = { algorithm: 'concurrency', limit: PLACES, lease: '1h', by: 'global' } as const;
  const module = { module: Root, imports: [RateLimitModule.forRoot({ policies: { slots } })] };
  const app = await NestFactory.createApplicationContext(module, { logger: false });
  const limiter = app.get(RateLimiter);
  const free = async (): Promise<number> => (await limiter.peek('slots')).policies[0]!.remaining;

  const own = async (): Promise<Response> => new Response(endless());
  const partner = limitedFetch(limiter, 'slots', sender === 'fetch' ? {} : { fetch: own });
  const instance = create({
    responseType: 'stream',
    adapter: async (config) => {
      const data = new Readable({ read: () => undefined });
      return { status: 200, statusText: 'OK', headers: {}, data, config };
    },
  });
  limitedAxios(limiter, 'slots', instance);
  const send = async (): Promise<void> => {
    await (sender === 'axios by an adapter' ? instance.get(url) : partner(url));
  };
  for (let i = 0; i < PLACES; i++) await send();
  const before = await free();
  for (const until = Date.now() + LONGEST_MS; (await free()) < PLACES && Date.now() < until; await turn()) collect();
  const after = await free();
  await app.close();
  server.closeAllConnections();
  server.close();
  return [before, after];
}

export const procedures = { freed };

answerCalls(procedures);
