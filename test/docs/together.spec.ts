import { readFileSync, writeFileSync } from 'node:fs';
import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter } from 'nestjs-floodgate';
import {
  BEHIND_AN_ELSE,
  BESIDE,
  type Feature,
  FEATURES,
  ON_A_POLICY,
  type Refusal,
  SCHEDULED,
} from '../../libs/floodgate/src/policy/together.js';
import { FROM_HEADERS, limited } from '../support/http-app.js';
import { ROOT } from './support/pages.js';

type Options = Readonly<Record<string, unknown>>;

const ADA = { kind: 'user', value: 'ada' };
const WINDOW = { limit: 64, window: '1h' };

/** The options that make each feature; the algorithm of a feature that says none is a fixed window, or a token bucket. */
const OPTIONS: Readonly<Record<Feature, Options>> = {
  'token-bucket': { algorithm: 'token-bucket', capacity: 64, refill: 1 },
  'leaky-bucket': { algorithm: 'leaky-bucket', capacity: 64, drain: 1 },
  'fixed-window': { algorithm: 'fixed-window', ...WINDOW },
  'sliding-window-log': { algorithm: 'sliding-window-log', ...WINDOW },
  'sliding-window-counter': { algorithm: 'sliding-window-counter', ...WINDOW },
  concurrency: { algorithm: 'concurrency', limit: 64, lease: '1m' },
  'a calendar window': { algorithm: 'fixed-window', limit: 64, window: { calendar: 'day' } },
  'a time zone by function': {
    algorithm: 'fixed-window',
    limit: 64,
    window: { calendar: 'day', timeZone: () => 'UTC' },
  },
  "by: 'global'": { by: 'global' },
  'by a client': { by: 'user' },
  shards: { shards: 2 },
  plans: { plans: { pro: {} } },
  priorities: { priorities: { high: 1, low: 0.5 } },
  prefetch: { prefetch: { for: '100ms', max: 8 } },
  else: { else: 'spare' },
  'behind an else': {},
  blockFor: { blockFor: '10m' },
  "mode: 'shadow'": { mode: 'shadow' },
  countIf: { countIf: () => true },
  settle: { settle: () => 1 },
  thresholds: { thresholds: [1] },
  skipIf: { skipIf: () => false },
  schedule: {},
  'Cloudflare Workers': {},
};
const NAMES = Object.keys(FEATURES) as Feature[];
const PLACES: readonly Feature[] = ['behind an else', 'schedule', 'Cloudflare Workers'];
const ALGORITHMS = NAMES.filter((name) => 'algorithm' in OPTIONS[name]);

/** A policy with features. A number that plans change is the algorithm's first one. */
function policyWith(...features: readonly Feature[]): Policy {
  const all = features.map((one) => OPTIONS[one]);
  const needsGlobal = features.includes('shards') && !features.includes('by a client');
  const made: Record<string, unknown> = Object.assign(
    { by: needsGlobal ? 'global' : 'user' },
    all.some((one) => 'algorithm' in one) ? {} : OPTIONS['fixed-window'],
    ...all,
  );
  const numbers = 'capacity' in made ? { capacity: 128 } : { limit: 128 };
  if ('plans' in made) made.plans = { pro: numbers };
  return made as unknown as Policy;
}

/** Whether one policy can have both at all. */
function canMeet(one: Feature, other: Feature): boolean {
  const isCalendar = (name: Feature): boolean => name.startsWith('a ');
  if (ALGORITHMS.includes(one) && ALGORITHMS.includes(other)) {
    return (isCalendar(one) && other === 'fixed-window') || (one === 'fixed-window' && isCalendar(other));
  }
  return !(one.startsWith('by') && other.startsWith('by'));
}

const SPARE = { algorithm: 'fixed-window', ...WINDOW, by: 'user' } as const satisfies Policy;

function routes(...policies: readonly Policy[]): Type {
  @Controller()
  class Routes {
    @Get()
    @RateLimit(...(policies as [Policy]))
    get(): void {}
  }
  return Routes;
}

@Controller()
class None {}

const boot = (policies: Readonly<Record<string, Policy>>, ...route: readonly Policy[]) =>
  limited('Express', route.length === 0 ? None : routes(...route), {
    identity: FROM_HEADERS,
    plan: { resolve: () => 'pro' },
    policies: { spare: SPARE, planned: { ...SPARE, plans: { pro: { limit: 2 } } }, ...policies },
    onThreshold: () => undefined,
  });

/** Lets the limiter take this process for a Worker of Cloudflare, if a pair is of one. */
function inTheirRuntime(...features: readonly Feature[]): Disposable {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  const value = { userAgent: 'Cloudflare-Workers' };
  if (features.includes('Cloudflare Workers')) {
    Object.defineProperty(globalThis, 'navigator', { value, configurable: true });
  }
  return {
    [Symbol.dispose]: () => {
      if (before === undefined) Reflect.deleteProperty(globalThis, 'navigator');
      else Object.defineProperty(globalThis, 'navigator', before);
    },
  };
}

describe('boot refuses with the sentence of the page', () => {
  it.each(ON_A_POLICY)('%s with %s', async (one, other, why) => {
    using _ = inTheirRuntime(one, other);
    await expect(boot({ both: policyWith(one, other) })).rejects.toThrow(`RateLimitModule, policies.both: ${why}`);
  });

  it.each(BEHIND_AN_ELSE)('%s: %s', async (_, feature, why) => {
    const policies = { first: { ...SPARE, else: 'next' }, next: policyWith(feature) };
    await expect(boot(policies)).rejects.toThrow(`policies.first, else 'next': ${why}`);
  });

  it.each(BESIDE)('%s beside %s', async (one, other, why) => {
    const [first, second] = [
      { ...policyWith(one), name: 'one' },
      { ...policyWith(other), name: 'other' },
    ];
    await expect(boot({}, first, second)).rejects.toThrow(`Routes.get, @RateLimit: ${why}`);
    await expect(boot({}, second, first)).rejects.toThrow(why);
  });

  it.each(SCHEDULED)('%s with %s, at the call', async (...[, feature, why]) => {
    await using app = await boot({ both: policyWith(feature) });
    using _ = inTheirRuntime(feature);
    await expect(async () => app.app.get(RateLimiter).schedule('both', ADA, () => 1)).rejects.toThrow(
      `RateLimiter.schedule, policy 'both': ${why}`,
    );
  });
});

it('each pair that is in no table boots', async () => {
  const isRefused = (all: readonly Refusal[], one: Feature, other: Feature): boolean =>
    all.some(([a, b]) => (a === one && b === other) || (a === other && b === one));
  const policies: Record<string, Policy> = {};
  let count = 0;
  for (const [i, one] of NAMES.entries()) {
    for (const other of NAMES.slice(i + 1)) {
      if (PLACES.includes(one) || PLACES.includes(other) || !canMeet(one, other)) continue;
      if (!isRefused(ON_A_POLICY, one, other)) policies[`p${count++}`] = policyWith(one, other);
    }
  }
  for (const one of NAMES) {
    if (PLACES.includes(one) || isRefused(BEHIND_AN_ELSE, 'behind an else', one)) continue;
    policies[`n${count}`] = policyWith(one);
    policies[`f${count}`] = { ...SPARE, else: `n${count++}` };
  }
  expect(count).toBeGreaterThan(100);
  await using app = await boot(policies);
  expect(app.logs.of('error')).toEqual([]);
});

describe('docs/together.md', () => {
  it('has the pairs', () => {
    const path = `${ROOT}docs/together.md`;
    const text = readFileSync(path, 'utf8');
    const lists = [[...ON_A_POLICY, ...BEHIND_AN_ELSE], BESIDE, SCHEDULED].map(listOf);
    const expected = text.replace(/^- .*(?:\n- .*)*/gm, () => lists.shift()!);
    if (process.env.UPDATE_TABLES !== undefined) writeFileSync(path, expected);
    expect(text).toBe(expected);
  });
});

/** A list of pairs. Those that share an option and the reason share a line. */
function listOf(refusals: readonly Refusal[]): string {
  const code = (name: string): string => (/^(?:a|by a|behind|Cloudflare) /.test(name) ? name : `\`${name}\``);
  const rows: string[][] = [];
  for (const [one, other, why] of refusals) {
    const row = [code(one), code(other), reasonOf(why)];
    const before = rows.at(-1) ?? [];
    const differs = row.flatMap((cell, column) => (cell === before[column] ? [] : [column]));
    if (differs.length === 1 && differs[0]! < 2) before[differs[0]!] += `, ${row[differs[0]!]}`;
    else rows.push(row);
  }
  return rows.map(([one, other, why]) => `- ${one} with ${other}: ${why}`).join('\n');
}

/** The sentence behind the one that names the pair, which the line itself does. */
function reasonOf(why: string): string {
  const reason = /^(?:window: )?.*?: (?!')(.*)$/.exec(why)?.[1] ?? why;
  return reason.replace(/(?<!\w)(\w+: '\w+')/g, '`$1`');
}
