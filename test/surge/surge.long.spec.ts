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
  main = await compiled('demo/surge/main');
  folder = mkdtempSync(join(tmpdir(), 'floodgate-surge-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Run {
  readonly status: number | null;
  readonly output: string;
  readonly errors: string;
}

interface Figures {
  readonly after: Readonly<Record<'ridersMatched' | 'overAdmitted' | 'matchingRps', number>>;
  readonly busy: readonly object[];
}

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

      const figures = JSON.parse(output.trimEnd().split('\n').at(-1)!) as Figures;
      expect(figures).toMatchObject({ pods: 2, riders: 400, seconds: 2, scale: 4, limitsHold: true });
      expect(figures.after.ridersMatched).toBeGreaterThan(0);
      const late = Number(/Redis was too late for (\d+|one) decision/.exec(output)?.[1]?.replace('one', '1') ?? 0);
      expect(figures.after.overAdmitted).toBeLessThanOrEqual(late);
      // The limit for matching at scale 4 is a burst of 2 and 25/s, in at least two seconds.
      expect(figures.after.matchingRps).toBeGreaterThan(0);
      expect(figures.after.matchingRps).toBeLessThanOrEqual(2 / 2 + 25 + late / 2);
      // A verdict only on a machine that carries the surge, and before the tables.
      const isBusy = figures.busy.length > 0;
      expect(output.includes('too busy to trust')).toBe(isBusy);
      const claims = ['FAILED', 'people wanted a ride', '99 of 100 others'];
      expect(claims.map((text) => output.includes(text))).toEqual(claims.map(() => !isBusy));
      const places = [...(isBusy ? [] : claims), 'Drivers matched to two riders: 0.', 'Side by side'];
      const found = places.map((text) => output.indexOf(text));
      expect(found).toEqual(found.toSorted((a, b) => a - b));
      expect(found[0]).toBeGreaterThan(0);

      const html = readFileSync(report, 'utf8');
      expect(html.match(/(?:src|href)=["']?(?!#)|url\((?!#)/g)).toBeNull();
      expect(html.includes('class="tiles"')).toBe(!isBusy);
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
    [['--report', '/nowhere/at/all.html'], '--report is "/nowhere/at/all.html", expected a file in a writable folder'],
  ])('names the mistake in %j and the correct value', async (args, message) => {
    const { status, output, errors } = await surge(args);
    expect({ status, output }).toEqual({ status: 2, output: '' });
    expect(errors).toContain(message);
    expect(errors).toContain('npm run surge -- [options]');
    expect(errors).not.toContain('    at ');
  });
});
