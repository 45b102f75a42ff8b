import { expect } from '@jest/globals';
import type { HttpApp } from '../../support/http-app.js';
import type { Fence } from './markdown.js';
import { unknownCommands } from './shell.js';
import type { SpecResults } from './specs.js';

/** What differs from run to run: instants, ports, the rest of a wait. Each keeps its name, and has to be a number. */
const VARYING: readonly [pattern: RegExp, replacement: string][] = [
  [/("(?:retry_after_ms|durationMs|\w+AfterMs|\w+_after_ms|outageMs)": ?)-?\d+(?:\.\d+)?/g, '$10'],
  [/\b(\w+AfterMs: )-?\d+(?:\.\d+)?/g, '$10'],
  [/\bagain in \d+(?:\.\d+)? ms\b/g, 'again in 0 ms'],
  [/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"<instant>"'],
  [/^((?:x-ratelimit-reset|retry-after): )\d+$/gim, '$10'],
  [/("retry_after": ?)\d+/g, '$10'],
  [/\bretry in \d+ seconds?\b/g, 'retry in 0 seconds'],
  [/\b(localhost|127\.0\.0\.1):\d+/g, '$1:<port>'],
  [/\bredis:\/\/[^\s'"]+/g, 'redis://<address>'],
];

/** Compares what a page shows with what came: spaces at the edges of lines, and what varies, do not count. */
export function expectShown({ lang, value }: Fence, real: string): void {
  if (lang === 'json') {
    expect(JSON.parse(plain(real))).toEqual(JSON.parse(plain(value)));
    return;
  }
  if (lang === 'http') {
    expectResponse(value, real);
    return;
  }
  expect(plain(real)).toBe(plain(value));
}

/** Whether the page shows nothing but counts of responses of which some passed: more of them may pass where a bucket refills. */
export function isBurst({ value }: Fence): boolean {
  return /^(?: *\d+ \d{3}(?:\n|$))+$/.test(value) && counts(value)['200'] !== undefined;
}

/** The counts of a burst by status (`uniq -c`). A burst that takes long finds tokens that were refilled meanwhile. */
export function expectBurst({ value }: Fence, real: string, refill: number, tookMs: number): void {
  const [shown, given] = [counts(value), counts(real)];
  const sum = (all: Record<string, number>): number => Object.values(all).reduce((a, b) => a + b, 0);
  expect(sum(given)).toBe(sum(shown));
  expect(given['200']).toBeGreaterThanOrEqual(shown['200']!);
  expect(given['200']).toBeLessThanOrEqual(shown['200']! + (refill * tookMs) / 1000);
}

function counts(text: string): Record<string, number> {
  return Object.fromEntries(
    Array.from(text.matchAll(/^ *(\d+) (\d{3})$/gm), ([, count, status]) => [status, Number(count)]),
  );
}

/** A page may leave out headers of a response. Those that it shows, the status and the body are the real ones. */
function expectResponse(shown: string, real: string): void {
  const [wanted, given] = [parsed(shown), parsed(real)];
  expect(given.status).toBe(wanted.status);
  expect(Object.fromEntries(Object.keys(wanted.headers).map((name) => [name, given.headers[name]]))).toEqual(
    wanted.headers,
  );
  if (wanted.body !== '') expect(given.body).toBe(wanted.body);
}

function parsed(response: string): { status: string; headers: Record<string, string>; body: string } {
  const [head = '', ...rest] = plain(response).split('\n\n');
  const [status = '', ...lines] = head.split('\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { status, headers, body: rest.join('\n\n') };
}

/** Each shown line stands in the log. `...` stands for any text. */
export function expectLogged({ value }: Fence, log: string): void {
  for (const line of plain(value).split('\n')) {
    const parts = line.split('...').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
    expect(plain(log)).toMatch(new RegExp(parts.join('.*')));
  }
}

function plain(text: string): string {
  let result = text.replaceAll('\r', '');
  for (const [pattern, replacement] of VARYING) result = result.replace(pattern, replacement);
  return result
    .split('\n')
    .map((line) => line.trim().replaceAll(/ +/g, ' '))
    .join('\n')
    .trim();
}

/** Every line but comments and `...` stands in the file. */
export function expectQuoted({ value }: Fence, file: string): void {
  // A page has shorter lines than the sources: the formatter broke them elsewhere, with a comma behind the last of several.
  const unbroken = (text: string): string => text.replaceAll(/[\s,]+/g, '');
  const source = unbroken(file);
  const lines = value.split('\n').map((line) => line.replace(/\s+\/\/ .*$/, '').trim());
  for (const line of lines.filter((one) => one !== '' && one !== '...' && !one.startsWith('//'))) {
    expect(source).toContain(unbroken(line));
  }
}

/** The programs and npm scripts of a block exist. */
export function expectKnown({ value }: Fence): void {
  expect(unknownCommands(value)).toEqual([]);
}

/** The application of a frame answers. */
export async function expectAlive(app: HttpApp, path: string): Promise<void> {
  expect(await app.send(path)).toMatchObject({ status: 200, text: 'ok' });
}

/** A file of tests ran, and all of its tests passed. */
export function expectPassed(results: SpecResults, path: string): void {
  const { assertionResults, message } = results.find(({ name }) => name === path) ?? { message: 'it did not run' };
  expect(assertionResults?.map(({ status }) => status) ?? message).toEqual(assertionResults?.map(() => 'passed'));
  expect(assertionResults?.length).toBeGreaterThan(0);
}
