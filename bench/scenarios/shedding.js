import { fileURLToPath } from 'node:url';
import { openClient } from '../http/open-client.js';
import { startProcess } from '../http/start-server.js';
import { Disturbed, median, spread, verify } from '../measure.js';

const SERVER = fileURLToPath(new URL('../http/overload-server.js', import.meta.url));
const WORK_MS = 4;
/** Requests a second of a process that did nothing else. */
const CAPACITY = 1000 / WORK_MS;
const TIMES = 4;
/** Unloaded: few requests meet another one. */
const CALM = 0.1;
/** After which a client gives up. */
const TIMEOUT_MS = 2_000;
const WARM_UP_MS = 1_500;
/** What an overload may take to be met: all clients of this time are left out. */
const SETTLE_MS = 4_000;
/** A load, against those of other scenarios: p99 needs some hundred critical requests. */
const LONGER = 7;

const CLASSES = [
  'critical',
  ...Array.from({ length: 3 }, () => 'normal'),
  ...Array.from({ length: 6 }, () => 'background'),
];
const classOf = (i) => CLASSES[i % CLASSES.length];

const UNLOADED = 'a tenth of it, no shedding';
const WITHOUT = `${TIMES} times, no shedding`;
const SHED = `${TIMES} times, Floodgate's shed`;
const PEER = `${TIMES} times, under-pressure`;
const SPARING = `${TIMES} times, under-pressure that spares critical requests`;

const CONTESTANTS = [
  { name: UNLOADED, variant: 'plain', times: CALM },
  { name: WITHOUT, variant: 'plain', times: TIMES },
  { name: SHED, variant: 'shed', times: TIMES },
  { name: PEER, variant: 'underPressure', times: TIMES },
  { name: SPARING, variant: 'underPressureSparing', times: TIMES },
];

/** What clients get of a process that is asked for 4 times what it can do: 1 in 10 requests is critical, 6 are background. */
export const shedding = {
  ratios: ['shedding.critical', 'shedding.without', 'shedding.underPressure'],
  async run(bench) {
    const samples = new Map(CONTESTANTS.map(({ name }) => [name, []]));
    for (let round = 0; round < Math.ceil(bench.rounds / 2); round++) {
      for (const contestant of CONTESTANTS) samples.get(contestant.name).push(await load(contestant, bench));
    }
    const against = (name) => spread(samples.get(name).map(({ p99 }, round) => p99 / samples.get(UNLOADED)[round].p99));
    return {
      ratios: {
        'shedding.critical': against(SHED),
        'shedding.without': against(WITHOUT),
        'shedding.underPressure': against(SPARING),
      },
      tables: [table(samples)],
    };
  },
};

/** A process of its own for each load: one that was not protected has a backlog for longer than the load took. */
async function load({ name, variant, times }, { ms, smoke, onClose }) {
  const server = await startProcess(SERVER, [variant, String(WORK_MS)], `overloaded server (${variant})`);
  onClose(() => server.kill());
  const client = openClient(server.port, TIMEOUT_MS);
  try {
    const [warmUpMs, settleMs] = smoke ? [100, 1_000] : [WARM_UP_MS, SETTLE_MS];
    await client.load({ rate: CAPACITY * CALM, ms: warmUpMs, classOf });
    const all = await client.load({ rate: CAPACITY * times, ms: settleMs + ms * LONGER, classOf });
    const outcomes = all.filter(({ sentAtMs }) => sentAtMs >= settleMs);
    const critical = outcomes.filter(({ class: one }) => one === 'critical');
    verify(critical.length > 0, `${name}: no critical request was sent`);
    if (variant === 'shed' && !smoke) {
      verify(!critical.some(({ status }) => status === 503), `${name} shed a critical request`);
    }
    if (times < 1 && !smoke && outcomes.some(({ status }) => status !== 200)) {
      throw new Disturbed('A process could not do a tenth of what it can do');
    }
    // One that was rejected at once has no latency: the parts that passed stand beside.
    // Without load the classes are alike, and the critical ones alone are too few for a p99.
    const told = times < 1 ? outcomes : critical;
    const answered = told.filter(({ status }) => status !== 503).map((outcome) => outcome.ms);
    return {
      p50: quantile(answered, 0.5),
      p99: quantile(answered, 0.99),
      passed: Object.fromEntries(['critical', 'normal', 'background'].map((one) => [one, part(outcomes, one, 200)])),
      timedOut: part(outcomes, undefined, 0),
      served: outcomes.filter(({ status }) => status === 200).length / ((ms * LONGER) / 1000) / CAPACITY,
    };
  } finally {
    client.close();
    await server.kill();
  }
}

function part(outcomes, name, status) {
  const own = outcomes.filter((outcome) => name === undefined || outcome.class === name);
  return own.filter((outcome) => outcome.status === status).length / own.length;
}

function quantile(values, share) {
  return values.length === 0 ? NaN : values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1];
}

function table(samples) {
  const percent = (value) => `${(100 * value).toFixed(0)} %`;
  const lines = [...samples].map(([name, all]) => {
    const middle = (pick) => median(all.map(pick));
    return [
      name,
      middle(({ p50 }) => p50).toFixed(1),
      middle(({ p99 }) => p99).toFixed(1),
      percent(middle(({ passed }) => passed.critical)),
      percent(middle(({ passed }) => passed.normal)),
      percent(middle(({ passed }) => passed.background)),
      percent(middle(({ timedOut }) => timedOut)),
      percent(middle(({ served }) => served)),
    ];
  });
  return {
    title: `A process that can do ${CAPACITY} requests a second, ${WORK_MS} ms of work each; clients wait for ${TIMEOUT_MS / 1000} s`,
    head: [
      'asked for what it can do',
      'critical p50 ms',
      'p99 ms',
      'critical served',
      'normal served',
      'background served',
      'timed out',
      'of what it can do, served',
    ],
    lines,
  };
}
