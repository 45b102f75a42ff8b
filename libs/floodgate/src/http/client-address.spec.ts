import { describe, expect, it } from '@jest/globals';
import express from 'express';
import * as fc from 'fast-check';
import { clientAddress, peerAddress, trustsHop } from './client-address.js';

/** The address that Express finds by the same setting. */
function byExpress(setting: unknown, remoteAddress: string, forwarded: string | undefined): string | undefined {
  const app = express();
  app.set('trust proxy', setting);
  const request = Object.create(app.request, {
    app: { value: app },
    socket: { value: { remoteAddress } },
    headers: { value: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded } },
  }) as express.Request;
  return request.ip;
}

function ours(given: unknown, remoteAddress: string, forwarded: string | undefined): string | undefined {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return clientAddress({ headers, socket: { remoteAddress } }, trustsHop(given));
}

const anyAddress = fc.oneof(
  fc.constantFrom(
    '127.0.0.1',
    '::1',
    '10.1.2.3',
    '::ffff:10.1.2.3',
    '192.168.7.7',
    'fe80::1',
    'fd00::5',
    '2001:db8::9',
  ),
  fc.ipV4(),
  fc.ipV6(),
);
const setting = fc.oneof(
  fc.constantFrom<unknown>(false, true, 0, 1, 2, 3, undefined),
  fc.constantFrom<unknown>('loopback', 'loopback, uniquelocal', 'linklocal', '10.0.0.0/8', '10.1.2.3, ::1', 'fd00::/8'),
  fc.constantFrom<unknown>(['10.0.0.0/8', 'loopback'], [], ['2001:db8::/32']),
  fc.constant<unknown>((text: string, hop: number) => hop < 2 && text.startsWith('1')),
);

describe('clientAddress', () => {
  it('finds what Express finds by the same setting', () => {
    fc.assert(
      fc.property(
        setting,
        anyAddress,
        fc.option(fc.array(anyAddress, { maxLength: 4 })),
        (given, remote, forwarded) => {
          const header = forwarded === null ? undefined : forwarded.join(', ');
          expect(ours(given, remote, header)).toBe(byExpress(given, remote, header));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it('takes an empty header, and a text that is no address, as Express does', () => {
    for (const header of ['', ' ', ',', 'unknown', '1.2.3.4:80', 'a, b', '10.0.0.1,,', '10.0.0.1, ']) {
      for (const given of [true, 1, 'loopback', '0.0.0.0/1']) {
        expect([header, given, ours(given, '127.0.0.1', header)]).toEqual([
          header,
          given,
          byExpress(given, '127.0.0.1', header),
        ]);
      }
    }
  });

  it('is unknown when the connection has gone, whatever a header says', () => {
    expect(clientAddress({ headers: { 'x-forwarded-for': '6.6.6.6' }, socket: {} }, trustsHop(true))).toBe(undefined);
  });
});

describe('the address of a gRPC peer', () => {
  it.each([
    ['ipv4:192.0.2.1:5678', '192.0.2.1'],
    ['ipv6:[::1]:5', '::1'],
    ['ipv6:%5B2001:db8::1%5D:50051', '2001:db8::1'],
    ['::1:50051', '::1'],
    ['2001:db8:1:2:3:4:5:6:50051', '2001:db8:1:2:3:4:5:6'],
    ['unix:/run/rides.sock', undefined],
    ['', undefined],
  ])('of %j is %s', (peer, expected) => {
    expect(peerAddress(peer)).toBe(expected);
  });
});
