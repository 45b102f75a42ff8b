import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { bindPolicy } from './bound-policy.js';
import { parsePolicy, type ParsedPolicy, parseVariant } from './parse-policy.js';
import { StateClaims } from './state-claims.js';
import { variantOf } from './variants.js';
import { headroomIn } from './priorities.js';
import { underPriority } from './under-priority.js';

const CLASSES = { critical: 1, normal: 0.9, background: 0.5 };
const WINDOW = { name: 'api', algorithm: 'fixed-window', limit: 10, window: '1m', priorities: CLASSES } as const;

const parse = (more: object): ParsedPolicy => parsePolicy({ ...WINDOW, ...more }, 'here');

describe('priorities', () => {
  it('leave the first class the whole limit, and each other one its part rounded down', () => {
    expect(parse({})).toMatchObject({ priority: 'critical', headroom: 0 });
    expect(parse({ priority: 'normal' })).toMatchObject({ priority: 'normal', headroom: 1 });
    expect(parse({ priority: 'background', limit: 11 })).toMatchObject({ headroom: 6 });
  });

  it('give a class the part that a decimal text says, and never more', () => {
    const cents = fc.integer({ min: 1, max: 100 });
    const limits = fc.integer({ min: 1, max: 10_000_000_000_000 });
    fc.assert(
      fc.property(cents, limits, (hundredths, limit) => {
        const whole = (BigInt(limit) * BigInt(hundredths)) / 100n;
        expect(limit - headroomIn({ limit }, hundredths / 100)).toBe(Math.max(1, Number(whole)));
      }),
    );
  });

  it.each<[string, object, string]>([
    ['a list', { priorities: ['a'] }, 'priorities must be an object of 1 to 16 classes'],
    ['no class', { priorities: {} }, 'got no class'],
    [
      '17 classes',
      { priorities: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`c${i}`, 1])) },
      '1 to 16 classes',
    ],
    ['a first class without the whole limit', { priorities: { a: 0.9, b: 0.5 } }, 'the first one 1'],
    ['parts that rise', { priorities: { a: 1, b: 0.5, c: 0.9 } }, 'that do not rise'],
    ['a part of 0', { priorities: { a: 1, b: 0 } }, 'parts above 0'],
    ['a part below one unit', { limit: 1 }, 'priorities.normal: 0.9 of the limit 1 is less than 1'],
    [
      'an unknown class',
      { priority: 'backgruond' },
      `policy 'api' has no class 'backgruond': it has 'critical', 'normal', 'background'. Did you mean`,
    ],
    [
      'a class without priorities',
      { priorities: undefined, priority: 'critical' },
      'priority has no effect without priorities',
    ],
    [
      'a cost above the part of the class',
      { priority: 'background', cost: 6 },
      "cost 6 never fits the part of the class 'background', which is 5 of 10",
    ],
    ['a plan whose part is below one unit', { plans: { tiny: { limit: 1 } } }, 'here, plans.tiny'],
  ])('refuse %s', (_, more, message) => {
    expect(() => parse(more)).toThrow(message);
  });

  it('follow other numbers: those of a plan, and of an override', () => {
    const parsed = parse({ priority: 'background', plans: { pro: { limit: 100 } } });
    expect(parsed.plans!.get('pro')).toMatchObject({ priority: 'background', headroom: 50 });
    expect(parseVariant(parsed, { limit: 30 }, 'here')).toMatchObject({ headroom: 15 });
    const bound = bindPolicy(parsed, 'rl', 'app', 'here');
    expect(variantOf(underPriority(bound, 'normal'), { limit: 50 })).toMatchObject({ priority: 'normal', headroom: 5 });
  });

  it('leave each class a unit under an override that is smaller, and refuse a cost that never passes', () => {
    const bound = bindPolicy(parse({ priority: 'background' }), 'rl', 'app', 'here');
    expect(variantOf(bound, { limit: 1 })).toMatchObject({ algorithm: { limit: 1 }, headroom: 0 });
    expect(variantOf(underPriority(bound, 'normal'), { limit: 3 })).toMatchObject({ headroom: 1 });
    const dear = bindPolicy(parse({ priority: 'background', cost: 2 }), 'rl', 'app', 'here');
    expect(() => variantOf(dear, { limit: 2 })).toThrow(
      "cost 2 never fits the part of the class 'background', which is 1 of 2",
    );
  });

  it('let routes of one policy differ in their class, and not in the parts', () => {
    const claims = new StateClaims();
    claims.claim('app', parse({}), 'one');
    claims.claim('app', parse({ priority: 'background' }), 'two');
    expect(() => claims.claim('app', parse({ priorities: { critical: 1, background: 0.4 } }), 'three')).toThrow(
      "a fixed-window (limit 10, window 60000 ms, priorities critical 1, background 0.4), but 'api' of one is",
    );
    expect(() => claims.claim('app', parse({ priorities: undefined }), 'four')).toThrow('both count under one key');
  });
});
