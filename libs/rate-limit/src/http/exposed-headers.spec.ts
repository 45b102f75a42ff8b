import { createServer, get, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { connect, createServer as createHttp2Server, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { exposeHeaders } from './exposed-headers.js';

type Write = (response: ServerResponse) => unknown;

/** The headers of a response to a page of another origin, which has a limit's header to expose. */
async function headersOf(protocol: 'HTTP/1' | 'HTTP/2', write: Write): Promise<IncomingHttpHeaders> {
  const listener: RequestListener = (_request, response) => {
    response.setHeader('X-Left', '1');
    exposeHeaders(response, [['X-Left', '1']]);
    write(response);
    response.end('sent');
  };
  const server =
    protocol === 'HTTP/1' ? createServer(listener) : createHttp2Server(listener as Parameters<Http2Server['on']>[1]);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return await (protocol === 'HTTP/1' ? overHttp1(url) : overHttp2(url));
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
}

function overHttp1(url: string): Promise<IncomingHttpHeaders> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false, headers: { origin: 'https://page.test' } }, (response) => {
      response.resume().on('end', () => resolve(response.headers));
    }).on('error', reject);
  });
}

function overHttp2(url: string): Promise<IncomingHttpHeaders> {
  return new Promise((resolve, reject) => {
    const session = connect(url).on('error', reject);
    const stream = session.request({ ':path': '/', origin: 'https://page.test' });
    stream.on('response', (headers) => {
      stream.resume().on('end', () => session.close(() => resolve(headers)));
    });
  });
}

const ALLOWED = ['Access-Control-Allow-Origin', '*'] as const;
const LIST = ['Access-Control-Expose-Headers', 'ETag'] as const;

const FORMS: [string, Write][] = [
  ['an object', (response) => response.writeHead(200, Object.fromEntries([ALLOWED, LIST]))],
  ['a message and an object', (response) => response.writeHead(200, 'Fine', Object.fromEntries([ALLOWED, LIST]))],
  ['an array', (response) => response.writeHead(200, [...ALLOWED, ...LIST])],
  ['a message and an array', (response) => response.writeHead(200, 'Fine', [...ALLOWED, ...LIST])],
  ['an undefined message and an array', (response) => response.writeHead(200, undefined, [...ALLOWED, ...LIST])],
  [
    'an array in lower case',
    (response) =>
      response.writeHead(
        200,
        [...ALLOWED, ...LIST].map((text) => text.toLowerCase()),
      ),
  ],
  ['an array of pairs of lists', (response) => response.writeHead(200, [...ALLOWED, LIST[0], ['ETag']] as string[])],
  [
    'an array beside earlier headers',
    (response) => [response.setHeader(...ALLOWED), response.writeHead(200, ['X-Other', 'x', ...LIST])],
  ],
  [
    'an array that allows the origin, with an earlier list',
    (response) => [response.setHeader(...LIST), response.writeHead(200, [...ALLOWED, 'X-Other', 'x'])],
  ],
];

describe.each(['HTTP/1', 'HTTP/2'] as const)('the list of exposed headers over %s', (protocol) => {
  it.each(FORMS)('has the names, whatever form writeHead gets: %s', async (_form, write) => {
    const headers = await headersOf(protocol, write);
    expect(headers['access-control-expose-headers']?.toLowerCase()).toBe('etag, x-left');
    expect(headers['access-control-allow-origin']).toBe('*');
    expect(headers['x-left']).toBe('1');
  });

  it('keeps every name of a list that an array has twice', async () => {
    const headers = await headersOf(protocol, (response) =>
      response.writeHead(200, [...ALLOWED, ...LIST, LIST[0], 'Age']),
    );
    expect(headers['access-control-expose-headers']).toBe('ETag, Age, X-Left');
  });

  it('is not sent where an array allows no origin', async () => {
    const headers = await headersOf(protocol, (response) => response.writeHead(200, ['X-Other', 'x']));
    expect(headers).toMatchObject({ 'x-other': 'x' });
    expect(headers).not.toHaveProperty('access-control-expose-headers');
  });

  it('leaves an array of an odd length to Node', async () => {
    let thrown: unknown;
    await headersOf(protocol, (response) => {
      try {
        response.writeHead(200, [...ALLOWED, LIST[0]]);
      } catch (error) {
        thrown = error;
      }
    });
    expect(thrown).toMatchObject({ code: 'ERR_INVALID_ARG_VALUE' });
  });
});

it('is complete over HTTP/2 where an array has pairs', async () => {
  const pairs = [ALLOWED, LIST] as unknown as string[];
  const headers = await headersOf('HTTP/2', (response) => response.writeHead(200, pairs));
  expect(headers['access-control-expose-headers']).toBe('ETag, X-Left');
});
