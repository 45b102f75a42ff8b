import { expect, it } from '@jest/globals';
import { ConflictException } from '@nestjs/common';
import { SurgeFactors } from './surge-factors.js';

it('is one without a factor, and after a reset', () => {
  const surge = new SurgeFactors();
  expect(surge.of('z')).toBe(1);
  surge.set('z', 2.5);
  expect(surge.of('z')).toBe(2.5);
  expect([...surge.zones()]).toEqual(['z']);
  surge.set('z', 1);
  expect(surge.of('z')).toBe(1);
  expect([...surge.zones()]).toEqual([]);
});

it('rejects a factor beyond the limit instead of forgetting a zone', () => {
  const surge = new SurgeFactors();
  for (let i = 0; i < 10_000; i++) surge.set(`z${i}`, 2);
  expect(() => surge.set('another', 2)).toThrow(ConflictException);
  surge.set('z0', 3);
  expect(surge.of('z0')).toBe(3);
  surge.set('z0', 1);
  surge.set('another', 2);
  expect(surge.of('another')).toBe(2);
});
