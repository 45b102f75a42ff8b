import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../tools/command-line.js';
import { NEEDED_BY, requirePrograms } from '../../tools/programs.js';
import { checkAnswers } from './checks/answers.js';
import { type Run, runOf, type Verdict } from './checks/check.js';
import { checkCoverage } from './checks/coverage.js';
import { checkExactness, type PolicyRow } from './checks/exact.js';
import { checkHandlers } from './checks/handlers.js';
import { checkHeap } from './checks/heap.js';
import { checkLogs } from './checks/logs.js';
import { checkPlaces, placesLeftIn } from './checks/places.js';
import { checkProcesses } from './checks/processes.js';
import { checkQueue } from './checks/queue.js';
import { checkRecovery } from './checks/recovery.js';
import { checkCharges } from './checks/twice.js';
import { now } from './clock.js';
import { readHistory } from './history.js';
import { type ChaosOptions, readOptions, USAGE } from './options.js';
import { planOf, type Storm } from './plan.js';
import { printReport } from './report.js';
import { perform } from './run/perform.js';
import { Scene } from './run/scene.js';

const PROGRESS_MS = 10_000;
const HEAPS_MS = 4000;
const EXIT_INTERRUPTED = 130;

/** @returns the evidence of the run */
async function injure(options: ChaosOptions, storms: readonly Storm[], folder: string): Promise<Run> {
  await using scene = await Scene.start(folder, options);
  const began = now();
  const progress = (): void =>
    console.log(`${((now() - began) / 1000).toFixed(0)} s, ${scene.load.sent.length} requests over HTTP`);
  const timer = setInterval(progress, PROGRESS_MS);
  const heaps = setInterval(() => void scene.measureHeaps(), HEAPS_MS);
  const load = scene.load.run();
  const injuries = await perform(scene, storms);
  const ended = now();
  clearInterval(heaps);
  scene.load.end();
  await load;
  clearInterval(timer);
  await Promise.all(scene.pods.map((pod) => pod.stop('SIGTERM')));
  await scene.collectSlow();
  const placesLeft = await placesLeftIn(scene.redis);
  const histories = scene.pods.flatMap((pod) =>
    pod.histories.map(({ name, path }) => readHistory(name, path, pod.index)),
  );
  return runOf({
    began,
    ended,
    injuries,
    histories,
    sent: scene.load.sent,
    turns: scene.redis.turns,
    placesLeft,
    writes: scene.redis.writes,
    slow: scene.slow,
    clientStalls: scene.stalls,
    wallAheadMs: scene.wallAheadMs,
    away: scene.pods.map(({ away }) => away),
    wrong: [...scene.wrong, ...scene.pods.flatMap(({ wrong }) => wrong)],
  });
}

function judge(run: Run): { rows: readonly PolicyRow[]; verdicts: Verdict[] } {
  const { verdict, rows } = checkExactness(run);
  return {
    rows,
    verdicts: [
      verdict,
      checkQueue(run),
      checkPlaces(run),
      checkHandlers(run),
      checkCharges(run),
      checkAnswers(run),
      checkRecovery(run),
      checkHeap(run),
      checkLogs(run),
      checkProcesses(run),
      checkCoverage(run, rows),
    ],
  };
}

/** A folder in memory, where there is one: the pods write their history at once, and no disk may delay them. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** Moves the histories of a run to a lasting folder. */
function keep(folder: string): void {
  const lasting = mkdtempSync(join(tmpdir(), 'floodgate-chaos-'));
  for (const name of readdirSync(folder)) if (name.endsWith('.jsonl')) cpSync(join(folder, name), join(lasting, name));
  rmSync(folder, { recursive: true });
  console.log(`\nThe histories are in ${lasting}`);
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  const storms = planOf(options.seed, options.minutes * 60_000);
  console.log(`chaos: seed ${options.seed}, ${options.minutes} minutes`);
  requirePrograms(NEEDED_BY['npm run test:chaos']);
  const folder = mkdtempSync(join(FOLDER, 'floodgate-chaos-'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      keep(folder);
      process.exit(EXIT_INTERRUPTED); // its processes end with it
    });
  }
  const run = await injure(options, storms, folder).catch((error: unknown) => {
    keep(folder);
    throw error;
  });
  const { rows, verdicts } = judge(run);
  printReport(run, rows, verdicts);
  const failed = verdicts.filter(({ failures }) => failures.length > 0);
  if (options.json !== undefined) {
    const result = { numPassedTests: verdicts.length - failed.length, numFailedTests: failed.length };
    writeFileSync(options.json, JSON.stringify(result));
  }
  if (failed.length === 0) rmSync(folder, { recursive: true });
  else keep(folder);
  const { minutes, seed, client } = options;
  const again = `npm run test:chaos -- --minutes ${minutes} --seed ${seed} --client ${client}`;
  console.log(failed.length === 0 ? `\npassed: ${again}` : `\n${failed.length} checks failed: ${again}`);
  return failed.length === 0 ? 0 : 1;
}

await runCommand(USAGE, main);
