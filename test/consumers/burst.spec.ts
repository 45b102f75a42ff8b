import { createServer, type RequestListener, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { burst } from './burst.js';

const BODY = { statusCode: 429, error: 'rate_limit_exceeded', policy: 'burst', retry_after: 3600 };

describe('a burst', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close();
  });

  /** Admits `capacity` requests, and answers all others with a 429 of these headers and this body. */
  async function limited(capacity: number, headers: Record<string, string>, body: object): Promise<string> {
    let left = capacity;
    return serve((_, response) => {
      if (left-- > 0) response.end('{}');
      else response.writeHead(429, headers).end(JSON.stringify(body));
    });
  }

  async function serve(answer: RequestListener): Promise<string> {
    const server = createServer(answer).listen(0, '127.0.0.1');
    servers.push(server);
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it('passes with 20 answers and a 429 that tells when to come back', async () => {
    await expect(burst([await limited(20, { 'Retry-After': '3600' }, BODY)])).resolves.toBeUndefined();
  });

  it.each([
    ['a limit of 19', 19, { 'Retry-After': '3600' }, BODY, /^The statuses of a burst are (?:200 ){19}429 429,/],
    ['no limit', 100, {}, BODY, /^The statuses of a burst are 200 .*200, expected/],
    ['no Retry-After', 20, {}, BODY, /^Retry-After of the 429 is null/],
    ['a date in Retry-After', 20, { 'Retry-After': 'tomorrow' }, BODY, /^Retry-After of the 429 is tomorrow/],
    [
      'another body',
      20,
      { 'Retry-After': '3600' },
      { statusCode: 429 },
      /^The body of the 429 is \{"statusCode":429\}/,
    ],
  ])('fails with %s', async (_, capacity, headers, body, message) => {
    await expect(burst([await limited(capacity, headers, body)])).rejects.toThrow(message);
  });

  it('fails when two processes count for themselves', async () => {
    const alone = (): Promise<string> => limited(20, { 'Retry-After': '3600' }, BODY);
    await expect(burst([await alone(), await alone()])).rejects.toThrow('The statuses of a burst are');
  });
});
