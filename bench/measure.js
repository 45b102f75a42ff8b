import { setImmediate as nextTurn } from 'node:timers/promises';
import { watchUsage } from './redis.js';

/**
 * Somebody who is asked for decisions.
 *
 * @typedef {object} Contestant
 * @property {string} name
 * @property {(i: number, lane: number) => Promise<unknown>} ask the i-th question of a load. Each lane has one under way
 * @property {number} [rows] decisions of one question; 1
 * @property {import('ioredis').Redis[]} [servers] those that decide; the bench's
 * @property {(answer: unknown) => boolean} right whether that is the answer it has to give; a rejection is an answer, too
 * @property {(answer: unknown) => boolean} [late] whether a wrong answer only says that the deadline was missed
 * @property {() => unknown} [before] before each load, not measured
 * @property {(decisions: number, sample: Sample) => unknown} [after] after each load, not measured: throws when the load was not what it claims
 *
 * @typedef {object} Sample one load's outcome
 * @property {number} decisions
 * @property {number} throughput decisions per second
 * @property {number} node microseconds of this process's CPU per decision (the asking loop included)
 * @property {number} redis microseconds of CPU of Redis's main thread per decision; of all servers together
 * @property {number} hottest the same of the server that used most
 * @property {number} share the part of the servers' CPU that this one used
 * @property {number} commands commands that Redis ran per decision, those inside of scripts included
 * @property {number} calls scripts that were called
 * @property {number} perCall decisions for each of them
 * @property {number} latency median microseconds from question to answer; only of timed loads
 */

/** An answer that came too late to be a decision: the machine is busy with something else, and the round says nothing. */
export class Disturbed extends Error {}

/** Rounds that may be disturbed before the bench gives up. */
const MAX_DISTURBED = 20;

/** Decisions between two looks at the clock: asked each time it would be a good part of an in-process decision. */
export const CLOCK_EVERY = 64;

/** One load: keeps `inFlight` questions under way for `ms`. @returns {Promise<Sample>} */
async function load(contestant, { inFlight, ms, timed, alone, admin }) {
  const { ask, right, name, rows = 1, servers = [admin] } = contestant;
  await contestant.before?.();
  const latencies = [];
  let asked = 0;
  let stop = false;
  let wrong;

  const keepAsking = async (_, lane) => {
    while (!stop) {
      const i = asked++;
      let answer;
      try {
        answer = await ask(i, lane);
      } catch (rejection) {
        answer = rejection;
      }
      if (!right(answer)) {
        wrong ??= answer;
        stop = true;
      }
      if (i % CLOCK_EVERY === 0 && performance.now() >= deadline) stop = true;
    }
  };
  const keepTiming = async (_, lane) => {
    while (!stop) {
      const start = performance.now();
      const answer = await ask(asked++, lane);
      const end = performance.now();
      latencies.push((end - start) * 1000);
      if (!right(answer)) wrong ??= answer;
      stop = end >= deadline || wrong !== undefined;
    }
  };

  const askInTurns = async () => {
    const underWay = new Set();
    while (!stop) {
      if (underWay.size >= inFlight) await Promise.race(underWay);
      await nextTurn();
      const i = asked++;
      const answered = ask(i)
        .catch((rejection) => rejection)
        .then((answer) => {
          underWay.delete(answered);
          if (right(answer)) return;
          wrong ??= answer;
          stop = true;
        });
      underWay.add(answered);
      if (i % CLOCK_EVERY === 0 && performance.now() >= deadline) stop = true;
    }
    await Promise.all(underWay);
  };

  const usage = await watchUsage(servers);
  const nodeBefore = process.cpuUsage();
  const start = performance.now();
  const deadline = start + ms;
  if (alone) await askInTurns();
  else await Promise.all(Array.from({ length: inFlight }, timed ? keepTiming : keepAsking));
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(nodeBefore);
  const used = await usage();

  if (wrong !== undefined && contestant.late?.(wrong)) throw new Disturbed(`${name} missed its deadline`);
  if (wrong !== undefined) throw new Error(`${name} gave a wrong answer: ${shown(wrong)}`, { cause: wrong });
  const decisions = asked * rows;
  const sample = {
    decisions,
    throughput: decisions / seconds,
    node: (user + system) / decisions,
    redis: used.cpu / decisions,
    hottest: used.hottest / decisions,
    share: used.hottest / used.cpu,
    commands: used.commands / decisions,
    calls: used.calls,
    perCall: decisions / used.calls,
    latency: median(latencies),
  };
  await contestant.after?.(decisions, sample);
  return sample;
}

/**
 * Loads the contestants in turn, A B A B: what slows the machine down for a while slows all of them down. The first turn
 * warms up and does not count.
 *
 * @param {Contestant[]} contestants
 * @param {object} options
 * @param {number} options.inFlight questions under way at a time
 * @param {boolean} [options.timed] takes every question's latency, one at a time
 * @param {boolean} [options.alone] asks one question in a turn of the event loop, so that none shares a call with another
 * @returns {Promise<Map<string, Sample[]>>} by name, in the order of the rounds
 */
export function measure(contestants, { inFlight, timed = false, alone = false, bench }) {
  const { admin } = bench;
  return inTurn(contestants, bench, (contestant, ms) => load(contestant, { inFlight, ms, timed, alone, admin }));
}

/** The rounds of `measure` with any kind of load. A round in which an answer came too late is thrown away as a whole. */
export async function inTurn(contestants, { rounds, ms, warmUpMs = ms / 2 }, loadOne) {
  const samples = new Map(contestants.map(({ name }) => [name, []]));
  let disturbed = 0;
  for (let round = -1; round < rounds; round++) {
    try {
      const loads = [];
      for (const contestant of contestants) loads.push(await loadOne(contestant, round < 0 ? warmUpMs : ms));
      if (round >= 0) contestants.forEach(({ name }, i) => samples.get(name).push(loads[i]));
    } catch (error) {
      if (!(error instanceof Disturbed) || ++disturbed > MAX_DISTURBED) throw error;
      process.stderr.write(`${error.message}: the round is repeated\n`);
      round--;
    }
  }
  return samples;
}

/** A count that each decision of a load has to raise by one, or the load was not what it claims. */
export function counted(what, read) {
  let from;
  return {
    before: async () => (from = await read()),
    after: async (decisions) => {
      const count = (await read()) - from;
      verify(count === decisions, `${what}: ${count} of ${decisions} decisions`);
    },
  };
}

/**
 * The bench with more and shorter rounds, in the same time: for contestants that are close to each other. A smoke run compares
 * nothing.
 */
export function finely(bench) {
  if (bench.smoke) return bench;
  return { ...bench, rounds: bench.rounds * 4, ms: bench.ms / 4, warmUpMs: bench.ms / 2 };
}

/**
 * How two contestants compare: of each round one ratio, of these the median, the least and the greatest.
 *
 * @returns {{ median: number, min: number, max: number }}
 */
export function ratio(ours, theirs, figure) {
  return spread(ours.map((sample, round) => sample[figure] / theirs[round][figure]));
}

/** Its middle half lies from `low` to `high`: a single round that met another load on the machine moves neither. */
export function spread(values) {
  return {
    median: median(values),
    low: quantile(values, 1 / 4),
    high: quantile(values, 3 / 4),
    min: Math.min(...values),
    max: Math.max(...values),
  };
}

/** Between the two values around it. */
function quantile(values, part) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const below = Math.floor(at);
  return sorted[below] + (at - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
}

export function median(values) {
  return quantile(values, 1 / 2);
}

/** Fails the run when what was measured is not what the table says. */
export function verify(holds, message) {
  if (!holds) throw new Error(message);
}

export function shown(answer) {
  if (answer instanceof Error) return `${answer.name}: ${answer.message}`;
  return JSON.stringify(answer);
}
