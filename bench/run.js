import { late } from './floodgate.js';
import { Disturbed } from './measure.js';
import { figure, render } from './table.js';

const FULL = { rounds: 5, ms: 700 };
const QUICK = { rounds: 3, ms: 600 };
/** Times that a scenario is tried when the machine is too busy for its checks. */
const ATTEMPTS = 5;

/**
 * Runs the scenarios that measure a ratio whose name begins with `only`, and prints the table of each.
 *
 * @param {import('./scenarios/index.js').Scenario[]} scenarios
 * @param {object} servers `url` and `admin` of one Redis; what else the scenarios need
 * @returns {Promise<Record<string, { median: number, min: number, max: number }>>} the ratios by name
 */
export async function run(scenarios, servers, { only, quick }) {
  const ratios = {};
  for (const scenario of scenarios.filter((one) => one.ratios.some((name) => name.startsWith(only)))) {
    const start = performance.now();
    const result = await insist(() => runOne(scenario, servers, quick ? QUICK : FULL));
    Object.assign(ratios, result.ratios);
    for (const table of result.tables) process.stdout.write(`${render(table)}\n`);
    process.stderr.write(`${scenario.ratios.join(', ')}: ${figure((performance.now() - start) / 1000)} s\n`);
  }
  return ratios;
}

async function runOne(scenario, servers, { rounds, ms }) {
  await servers.admin.flushall();
  const closing = [];
  try {
    return await scenario.run({ ...servers, rounds, ms, onClose: (close) => closing.unshift(close) });
  } finally {
    for (const close of closing) await close();
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
