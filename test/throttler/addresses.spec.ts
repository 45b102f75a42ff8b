import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import * as ours from 'nestjs-floodgate/throttler';
import { theirs } from './support/theirs.js';

const addresses = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.ipV6().map((ip) => `${ip}%eth0`),
  fc.ipV6().map((ip) => ip.toUpperCase()),
  fc.ipV4().map((ip) => `::ffff:${ip}`),
  fc.ipV4().map((ip) => `::${ip}`),
  fc.ipV4().map((ip) => `2001:db8::${ip}`),
  fc.constantFrom('::1', '::', '0:0:0:0:0:0:0:1', '::ffff:102:304', 'unknown', '', '1.2.3.4:80', '[::1]', '::1%lo'),
  fc.string(),
);

it('reads every address as @nestjs/throttler does, cut to any number of bits', () => {
  fc.assert(
    fc.property(addresses, fc.integer({ min: -5, max: 140 }), (ip, bits) => {
      expect(ours.normalizeIp(ip, bits)).toBe(theirs.normalizeIp(ip, bits));
      expect(ours.normalizeIp(ip)).toBe(theirs.normalizeIp(ip));
    }),
    { numRuns: 3000 },
  );
});
