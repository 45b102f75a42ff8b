import { expect, it } from '@jest/globals';
import { OnceEach } from './once-each.js';

it('tells each kind of warning once, whatever its numbers and its parentheses, until it forgets', () => {
  const told: string[] = [];
  const once = new OnceEach((line) => told.push(line));
  const late = 'With limits: no answer within 50 ms (see https://example.com)';
  for (let more = 0; more < 29; more++) once.tell(more === 0 ? late : `${late} (${more} more since the last warning)`);
  once.tell('With limits: no answer within 250.5 ms');
  once.tell('Without limits: no answer within 50 ms');
  expect(told).toEqual([late, 'Without limits: no answer within 50 ms']);
  once.forget();
  once.tell(late);
  expect(told).toHaveLength(3);
});
