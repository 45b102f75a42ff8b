import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compiled } from '../support/compiled.js';
import { until } from '../support/faults/until.js';

/** A surge of a few seconds. The tests do not judge its figures. */
const SMALL = ['--pods', '2', '--riders', '300', '--seconds', '2', '--scale', '10', '--patience-ms', '500'];
/** The same with a burst of two requests for matching: one of them is free for rides. */
const CITY = ['--pods', '2', '--riders', '400', '--seconds', '2', '--scale', '4', '--patience-ms', '500'];
const TIMEOUT_MS = 240_000; // it is real time, and the machine may be busy

let folder: string;
let main: string;

beforeAll(async () => {
  main = await compiled('surge/main');
  folder = mkdtempSync(join(tmpdir(), 'floodgate-surge-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Run {
  readonly status: number | null;
  readonly output: string;
  readonly errors: string;
}

type Rates = Readonly<Record<'ridesServedRate' | 'estimatesServedRate', number>>;

function start(args: readonly string[], variables: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, [main, ...args], {
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function surge(args: readonly string[], variables?: Record<string, string>): Promise<Run> {
  const child = start(args, variables);
  const texts = { output: '', errors: '' };
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (texts.output += text));
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (texts.errors += text));
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, ...texts };
}

describe('npm run surge', () => {
  it(
    'runs the same surge three times, prints JSON last, and writes a self-contained report',
    async () => {
      const report = join(folder, 'surge.html');
      // Variables for an application of the user's own must not reach the surge's application.
      const surroundings = { RATE_LIMIT: 'off', PORT: '1', REDIS_URL: 'redis://127.0.0.1:1', MATCHING_URL: 'http://x' };
      const { status, output, errors } = await surge(
        [...CITY, '--details', '--json', '--report', report],
        surroundings,
      );
      expect({ status, errors }).toEqual({ status: 0, errors: '' });

      // The mean of nothing is null.
      const numbers = (name: string, value: unknown): unknown => (/AfterMs$|^mean/.test(name) ? (value ?? 0) : value);
      const figures = JSON.parse(output.trimEnd().split('\n').at(-1)!, numbers) as Record<
        string,
        Record<string, unknown>
      >;
      const rate = expect.any(Number);
      const common = {
        p99Ms: rate,
        failureRate: rate,
        ridesServedRate: rate,
        estimatesServedRate: rate,
        retryRate: rate,
        matchingRps: rate,
        waitP99Ms: rate,
        utilisation: rate,
        ridersWanting: rate,
        ridersMatched: rate,
        matchedAfterMs: rate,
        ridersGaveUp: rate,
        gaveUpAfterMs: rate,
      };
      expect(figures).toEqual({
        pods: 2,
        riders: 400,
        seconds: 2,
        scale: 4,
        before: { ...common, meanFailureMs: rate },
        after: { ...common, mean429Ms: rate, overAdmitted: rate },
        limitsHold: true,
        busy: expect.any(Array),
      });
      const { before, after } = figures as { before: Record<string, number>; after: Record<string, number> };
      expect(after['ridersMatched']).toBeGreaterThan(0);
      for (const { failureRate } of [before, after]) {
        expect(failureRate).toBeGreaterThanOrEqual(0);
        expect(failureRate).toBeLessThanOrEqual(1);
      }
      // The verdict comes before the tables.
      const isBusy = (figures['busy'] as unknown as object[]).length > 0;
      const claims = ['FAILED', 'people wanted a ride', '99 of 100 others'];
      const tables = [/Drivers matched to two riders: 0\./, /Side by side/, /^ *load generator +\d/m];
      const places = [...(isBusy ? [] : claims), ...tables].map((text) => output.search(text));
      expect(places).toEqual(places.toSorted((a, b) => a - b));
      expect(places[0]).toBeGreaterThan(0);
      const late = Number(/Redis was too late for (\d+|one) decision/.exec(output)?.[1]?.replace('one', '1') ?? 0);
      expect(after['overAdmitted']).toBeLessThanOrEqual(late);
      // The limit for matching at scale 4 is a burst of 2 and 25/s, in at least two seconds.
      expect(after['matchingRps']).toBeGreaterThan(0);
      expect(after['matchingRps']).toBeLessThanOrEqual(2 / 2 + 25 + late / 2);
      // Estimates give way to rides, on a machine that carries the surge.
      for (const { ridesServedRate, estimatesServedRate } of isBusy ? [] : [after as Rates]) {
        expect(ridesServedRate).toBeGreaterThan(0);
        expect(estimatesServedRate).toBeLessThan(ridesServedRate);
      }
      const [json, ...lines] = output.trimEnd().split('\n').toReversed();
      expect(json).toMatch(/^\{/);
      expect(lines.filter((line) => line.length > 100 && !line.startsWith('Report: '))).toEqual([]);
      expect(output).not.toContain('\u001b');
      expect(output.includes('too busy to trust')).toBe(isBusy);
      expect(claims.map((text) => output.includes(text))).toEqual(claims.map(() => !isBusy));

      const html = readFileSync(report, 'utf8');
      expect(html.match(/(?:src|href)=["']?(?!#)/g)).toBeNull();
      expect(html.match(/url\((?!#)/g)).toBeNull();
      expect(html.includes('class="tiles"')).toBe(!isBusy);
      expect(html.indexOf('class="tiles"')).toBeLessThan(html.indexOf('class="charts"'));
      expect(html.indexOf('class="charts"')).toBeLessThan(html.indexOf('<table>'));
      const refused = Array.from(html.matchAll(/data-outcome="rejected" d="([^"]*)"/g), ([, path]) => path);
      expect(refused).toEqual(['', '', expect.stringMatching(/^M/)]);
    },
    TIMEOUT_MS,
  );

  it(
    'shows that each process gives a rider the whole limit with --store memory',
    async () => {
      const { status, output } = await surge([...SMALL, '--scale', '2', '--seconds', '1', '--store', 'memory'], {
        FORCE_COLOR: '1',
      });
      expect(status).toBe(0);
      expect(output).toContain('\u001b');
      expect(output).not.toContain('Side by side');
      const text = stripVTControlCharacters(output).replaceAll('\n', ' ');
      const [, sent, admitted] =
        /One rider sent (\d+) requests at once to 2 processes: (\d+) admitted, since each process/.exec(text) ?? [];
      expect(Number(sent)).toBe(60);
      expect(Number(admitted)).toBeGreaterThanOrEqual(40);
    },
    TIMEOUT_MS,
  );

  it(
    'leaves no process behind when it is interrupted',
    async () => {
      const child = start(SMALL);
      let output = '';
      child.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text));
      while (!output.includes('1 of 3')) await once(child.stdout!, 'data');
      // Redis, the load generator, the matching service and two processes of the application.
      const children = await until('five processes', 60_000, () => {
        const pids = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ');
        return pids.length >= 5 ? pids : undefined;
      });
      child.kill('SIGINT');
      await once(child, 'close');
      const since = performance.now();
      while (children.some((pid) => existsSync(`/proc/${pid}`))) {
        expect(performance.now() - since).toBeLessThan(20_000);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    TIMEOUT_MS,
  );

  it.each([
    [['--pods', '0'], '--pods is "0", expected a whole number from 1 to 64'],
    [['--fast'], "Unknown option '--fast'"],
    [['--report', '/nowhere/at/all.html'], '--report is "/nowhere/at/all.html", expected a file in a writable folder'],
  ])('names the mistake in %j and the correct value', async (args, message) => {
    const { status, output, errors } = await surge(args);
    expect({ status, output }).toEqual({ status: 2, output: '' });
    expect(errors).toContain(message);
    expect(errors).toContain('npm run surge -- [options]');
    expect(errors).not.toContain('    at ');
  });

  it(
    'says which Redis server is missing',
    async () => {
      const { status, errors } = await surge(SMALL, { REDIS_SERVER_BIN: '/nowhere/redis-server' });
      expect(status).toBe(1);
      expect(errors).toBe('REDIS_SERVER_BIN names /nowhere/redis-server, which is not an executable file\n');
    },
    TIMEOUT_MS,
  );

  it('prints help', async () => {
    const { status, output } = await surge(['--help']);
    expect(status).toBe(0);
    expect(output).toContain('--store S');
  });
});
