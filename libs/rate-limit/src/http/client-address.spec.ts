import { describe, expect, it } from '@jest/globals';
import { clientAddress, trustsHop } from './client-address.js';

describe('clientAddress', () => {
  it.each([
    [undefined, false, '10.0.0.1'],
    ['6.6.6.6', false, '10.0.0.1'],
    ['6.6.6.6', undefined, '10.0.0.1'],
    ['6.6.6.6', true, '6.6.6.6'],
    ['6.6.6.6, 1.2.3.4', true, '6.6.6.6'],
    ['6.6.6.6, 1.2.3.4', 1, '1.2.3.4'],
    ['6.6.6.6, 1.2.3.4', 2, '6.6.6.6'],
    ['6.6.6.6, 1.2.3.4', '10.0.0.0/8', '1.2.3.4'],
    ['6.6.6.6, 1.2.3.4', '10.0.0.0/255.0.0.0', '1.2.3.4'],
    ['6.6.6.6, 1.2.3.4', '10.0.0.1', '1.2.3.4'],
    ['6.6.6.6, 1.2.3.4', '10.0.0.2', '10.0.0.1'],
    ['6.6.6.6, 1.2.3.4', 'uniquelocal', '1.2.3.4'],
    ['6.6.6.6, 1.2.3.4', ['loopback', '::ffff:10.0.0.0/104'], '1.2.3.4'],
    ['6.6.6.6, 1.2.3.4, ::ffff:10.9.9.9', 'linklocal, 10.0.0.0/8', '1.2.3.4'],
    ['6.6.6.6, unknown', '10.0.0.0/8', 'unknown'],
    ['6.6.6.6, 1.2.3.4', (address: string) => address === '10.0.0.1', '1.2.3.4'],
    [['6.6.6.6', '1.2.3.4'], (_: string, hop: number) => hop < 1, '1.2.3.4'],
  ])('of %j with trust proxy %p is %s', (forwarded, given, expected) => {
    const request = { headers: { 'x-forwarded-for': forwarded }, socket: { remoteAddress: '10.0.0.1' } };
    expect(clientAddress(request, trustsHop(given))).toBe(expected);
  });

  it('is unknown when the connection has gone, whatever a header says', () => {
    expect(clientAddress({ headers: { 'x-forwarded-for': '6.6.6.6' }, socket: {} }, trustsHop(true))).toBe(undefined);
  });
});
