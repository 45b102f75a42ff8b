import { deepStrictEqual, rejects } from 'node:assert';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ClientWait, rateLimitFetch, RateLimitWaitError } from 'floodgate-client';

/** Answers the first request with a rejection, and then lets one pass that leaves nothing for a minute. */
const server = createServer((_, response) => {
  const [status, headers, body] = answers.shift()!;
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
});
const answers: [status: number, headers: Record<string, string>, body: object][] = [
  // Longer than a busy machine takes to read the answer: a wait that is over is none.
  [429, {}, { retry_after_ms: 1_000 }],
  [200, { RateLimit: '"a";r=0;t=60' }, { served: true }],
];

async function main() {
  const waits: ClientWait[] = [];
  const limited = rateLimitFetch({ maxWait: '5s', onWait: (wait) => void waits.push(wait) });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  deepStrictEqual(await (await limited(url)).json(), { served: true });
  deepStrictEqual(
    waits.map(({ status }) => status),
    [429],
  );
  await rejects(limited(url), RateLimitWaitError);
  server.closeAllConnections();
  server.close();
  console.log('the client waited');
}

server.listen(0, '127.0.0.1', () => void main());
