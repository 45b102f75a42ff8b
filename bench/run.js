import { late } from './floodgate.js';
import { Disturbed } from './measure.js';
import { figure, render } from './table.js';

const FULL = { rounds: 5, ms: 700 };
const QUICK = { rounds: 3, ms: 600 };
/** One round, long enough for some hundred decisions: whether everything runs, not how fast. */
const SMOKE = { rounds: 1, ms: 100, warmUpMs: 25, smoke: true };
/** Times that a scenario is tried when the machine is too busy for its checks. */
const ATTEMPTS = 5;

/**
 * Runs the scenarios that measure a ratio whose name begins with `only`, and prints the table of each. A scenario that fails
 * takes nothing from the others.
 *
 * @param {import('./scenarios/index.js').Scenario[]} scenarios
 * @param {object} servers `url` and `admin` of one Redis; what else the scenarios need
 * @param {{ only: string, quick?: boolean, smoke?: boolean }} options
 * @returns {Promise<{ ratios: Record<string, { median: number, min: number, max: number }>, passed: string[], failed: Failure[] }>}
 *   the ratios by name, and the scenarios
 *
 * @typedef {{ name: string, error: Error }} Failure
 */
export async function run(scenarios, servers, { only, quick, smoke }) {
  const size = smoke ? SMOKE : quick ? QUICK : FULL;
  const ratios = {};
  const passed = [];
  const failed = [];
  for (const scenario of scenarios.filter((one) => one.ratios.some((name) => name.startsWith(only)))) {
    const start = performance.now();
    const name = scenario.ratios.join(', ');
    let end = '';
    try {
      const result = await insist(() => runOne(scenario, servers, size));
      verifyRatios(scenario, result);
      Object.assign(ratios, result.ratios);
      const tables = result.tables.map(render);
      if (!smoke) for (const table of tables) process.stdout.write(`${table}\n`);
      passed.push(name);
    } catch (error) {
      failed.push({ name, error });
      end = `, FAILED: ${error.message}`;
    }
    process.stderr.write(`${name}: ${figure((performance.now() - start) / 1000)} s${end}\n`);
  }
  return { ratios, passed, failed };
}

async function runOne(scenario, servers, size) {
  await servers.admin.flushall();
  const closing = [];
  try {
    return await scenario.run({ ...servers, ...size, onClose: (close) => closing.unshift(close) });
  } finally {
    for (const close of closing) await close();
  }
}

/** A field that no longer exists makes a ratio NaN, and the table would only look odd. */
function verifyRatios({ ratios: names }, { ratios }) {
  for (const name of names) {
    const { median } = ratios[name] ?? {};
    if (!Number.isFinite(median)) throw new Error(`${name} is ${median}, not a number`);
  }
}

/** An answer that came too late outside of the rounds, which repeat themselves, starts the scenario again. */
async function insist(attempt) {
  for (let i = 1; ; i++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(late(error) || error instanceof Disturbed) || i === ATTEMPTS) throw error;
      process.stderr.write(`${error.message}: the scenario is repeated\n`);
    }
  }
}
