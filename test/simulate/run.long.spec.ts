import { describe, expect, it } from '@jest/globals';
import { disturbWith, type FaultFigures, FAULTS } from '../../simulate/faults.js';
import { type Figures, simulate } from '../../simulate/run.js';
import { SCENARIO_NAMES, type Scenario, type ScenarioName, scenarioOf } from '../../simulate/scenarios/scenario.js';
import { strategyOf } from '../../simulate/options.js';
import { COSTS, NETWORK, type Settings } from '../../simulate/settings.js';
import { STRATEGIES } from '../../simulate/strategies/strategies.js';

function settings(changes: Partial<Settings> = {}): Settings {
  const regions = changes.regions ?? 1;
  return {
    pods: 10,
    regions,
    homeShare: 0.7,
    seed: 1,
    deadlineMs: regions > 1 ? 250 : 50,
    exchangeMs: 100,
    costs: COSTS,
    network: NETWORK,
    ...changes,
  };
}

/** Seconds of each scenario: enough to fill and to empty its limits. */
const SECONDS: Readonly<Record<ScenarioName, number>> = { hot: 5, users: 0.7, concert: 3, fleet: 2 };

/** The beginning of a scenario. */
function shortened(name: ScenarioName, pods = 10): Scenario {
  return { ...scenarioOf(name, pods), seconds: SECONDS[name] };
}

function run(strategy: string, name: ScenarioName = 'hot', changes: Partial<Settings> = {}): Promise<Figures> {
  return simulate(shortened(name, changes.pods), strategyOf(strategy), settings(changes));
}

const CASES = STRATEGIES.flatMap(({ name, regions, exact }) =>
  regions.map((count) => ({ name, regions: count, exact })),
);
const EXACT = CASES.filter(({ exact }) => exact);

describe('a simulation', () => {
  it.each(CASES.filter(({ exact }) => !exact))('$name answers every request of $regions region(s)', async (given) => {
    const figures = await run(given.name, 'hot', { regions: given.regions });
    expect(figures.answered).toBe(figures.arrived);
    expect(figures.admitted).toBeGreaterThan(0.5 * figures.ideal);
  });

  it.each(EXACT.flatMap((one) => SCENARIO_NAMES.map((scenario) => ({ ...one, scenario }))))(
    '$name never admits too much of $scenario in $regions region(s)',
    async ({ name, scenario, regions }) => {
      const figures = await run(name, scenario, { regions });
      expect(figures.over).toBe(0);
      expect(figures.answered).toBe(figures.arrived);
    },
  );

  it.each(['alone', 'naive-prefetch'])('finds that %s admits too much', async (name) => {
    const { over } = await run(name);
    expect(over).toBeGreaterThan(10);
  });

  it('finds that regions admit too much until they have exchanged their counts', async () => {
    const often = await run('exchange', 'hot', { regions: 2, exchangeMs: 20 });
    const rarely = await run('exchange', 'hot', { regions: 2, exchangeMs: 500 });
    expect(often.over).toBeGreaterThan(0);
    expect(rarely.over).toBeGreaterThan(3 * often.over);
  });

  it('gives the same figures for the same seed, and others for another', async () => {
    const [first, again, other] = [
      await run('exchange', 'users', { regions: 2 }),
      await run('exchange', 'users', { regions: 2 }),
      await run('exchange', 'users', { regions: 2, seed: 2 }),
    ];
    expect(JSON.stringify(again)).toBe(JSON.stringify(first));
    expect(JSON.stringify(other)).not.toBe(JSON.stringify(first));
  });
});

describe('a fault', () => {
  const faulty = async (name: string, strategy: string, regions: number) => {
    const fault = FAULTS.find((one) => one.name === name)!;
    let read: (() => FaultFigures) | undefined;
    // A second more than the longest fault: what it left behind shows.
    const scenario = { ...scenarioOf('hot', 20), seconds: 10 };
    const figures = await simulate(scenario, strategyOf(strategy), settings({ pods: 20, regions }), (running) => {
      read = disturbWith(fault, running);
    });
    return { ...figures, ...read!() };
  };

  it.each(['redis', 'prefetch100', 'divided'])('that kills pods lets %s admit no more', async (strategy) => {
    const { over, arrived, answered } = await faulty('pods', strategy, 2);
    expect(over).toBe(0);
    expect(arrived - answered).toBeLessThan(20);
  });

  it('of Redis is answered by the shares of the pods, and ends', async () => {
    const { over, arrived, answered, decidedBy, admittedDuring, idealDuring } = await faulty('redis', 'redis', 1);
    expect(answered).toBe(arrived);
    expect(decidedBy['local']).toBeGreaterThan(0.02);
    expect(decidedBy['store']).toBeGreaterThan(0.7);
    expect(admittedDuring).toBeGreaterThan(0.9 * idealDuring);
    // An outage can admit one local limit of all pods when it begins, and one limit when it ends.
    expect(over).toBeLessThan(2 * 1000);
  });

  it('of the link does not touch regions that ask their own Redis', async () => {
    const [divided, home] = [await faulty('link', 'divided', 2), await faulty('link', 'redis', 2)];
    expect(divided.decidedBy).toEqual({ store: 1 });
    expect(divided.over).toBe(0);
    expect(home.decidedBy['local']).toBeGreaterThan(0.01);
    expect(home.answered).toBe(home.arrived);
  });
});
