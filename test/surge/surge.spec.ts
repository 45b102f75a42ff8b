import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '../support/faults/until.js';

const MAIN = fileURLToPath(new URL('../../surge/main.ts', import.meta.url));
const TYPESCRIPT = new URL('../support/typescript-loader.js', import.meta.url).href;
/** A surge of a few seconds. The tests do not judge its figures. */
const SMALL = ['--pods', '2', '--riders', '300', '--seconds', '2', '--scale', '10', '--patience-ms', '500'];
const TIMEOUT_MS = 240_000; // it is real time, and the machine may be busy

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'floodgate-surge-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Run {
  readonly status: number | null;
  readonly output: string;
  readonly errors: string;
}

function start(args: readonly string[], variables: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, ['--import', TYPESCRIPT, MAIN, ...args], {
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
      const { status, output, errors } = await surge([...SMALL, '--json', '--report', report], surroundings);
      expect({ status, errors }).toEqual({ status: 0, errors: '' });

      const figures = JSON.parse(output.trimEnd().split('\n').at(-1)!) as Record<string, Record<string, unknown>>;
      const rate = expect.any(Number);
      expect(figures).toEqual({
        pods: 2,
        riders: 300,
        seconds: 2,
        before: { p99Ms: rate, failureRate: rate, matchingRps: rate, ridersMatched: rate },
        after: {
          p99Ms: rate,
          failureRate: rate,
          mean429Ms: rate,
          matchingRps: rate,
          ridersMatched: rate,
          overAdmitted: rate,
        },
      });
      const { before, after } = figures as { before: Record<string, number>; after: Record<string, number> };
      expect(after['matchingRps']).toBeLessThan(before['matchingRps']!);
      expect(after['ridersMatched']).toBeGreaterThan(0);
      for (const { failureRate } of [before, after]) {
        expect(failureRate).toBeGreaterThanOrEqual(0);
        expect(failureRate).toBeLessThanOrEqual(1);
      }
      for (const title of ['Without a limiter', "Each rider's limits alone", 'Side by side', 'load generator']) {
        expect(output).toContain(title);
      }
      expect(output).toContain('Drivers matched to two riders: 0.');
      const late = Number(/Redis was too late for (\d+) decisions/.exec(output)?.[1] ?? 0);
      expect(after['overAdmitted']).toBeLessThanOrEqual(late);

      const html = readFileSync(report, 'utf8');
      expect(html).toContain('uPlot');
      expect(html.match(/(?:src|href)=["']?https?:/g)).toBeNull();
      const series = JSON.parse(/id="series">([^<]*)</.exec(html)![1]!) as { name: string; rejected: number[] }[];
      expect(series.map(({ name }) => name)).toEqual(['before', 'riders', 'after']);
      expect(series[0]!.rejected.every((count) => count === 0)).toBe(true);
      expect(series[2]!.rejected.some((count) => count > 0)).toBe(true);
    },
    TIMEOUT_MS,
  );

  it(
    'shows that each process gives a rider the whole limit with --store memory',
    async () => {
      const { status, output } = await surge([...SMALL, '--seconds', '1', '--store', 'memory']);
      expect(status).toBe(0);
      const [, sent, admitted] =
        /One rider's (\d+) requests at once to 2 processes: (\d+) were admitted/.exec(output) ?? [];
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
      while (!output.includes('riders for')) await once(child.stdout!, 'data');
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
