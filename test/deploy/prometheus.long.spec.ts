import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import request from 'supertest';
import { parse, stringify } from 'yaml';
import { RIDE } from '../app/support/requests.js';
import { type Service, start } from '../app/support/start-app.js';
import { Exposition } from '../support/exposition.js';
import { until } from '../support/faults/until.js';
import { Daemon, promtool } from '../support/prometheus.js';
import { ManifestRedis } from './support/manifest-redis.js';
import { DEPLOY, all, podOf, textOf, variablesOf, workload } from './support/manifests.js';

jest.setTimeout(60_000);

const START_LIMIT_MS = 60_000;
const SCRAPE_LIMIT_MS = 20_000;
const MONITORING = join(import.meta.dirname, '../../libs/rate-limit/monitoring');
const URL_OF_PAGE = 'https://github.com/floodgate-nest/floodgate/blob/main/docs/metrics.md#the-alerts';

/** The folder as deploy/README.md has it: with the alerts of the package beside the application's. */
const FOLDER = mkdtempSync(join(tmpdir(), 'floodgate-prometheus-'));
cpSync(join(DEPLOY, 'prometheus'), FOLDER, { recursive: true });
cpSync(join(MONITORING, 'alerts.yaml'), join(FOLDER, 'floodgate-alerts.yaml'));

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook: string };
}

interface ScrapeConfig {
  readonly job_name: string;
  readonly dns_sd_configs: readonly [{ readonly names: readonly [string]; readonly port: number }];
}

interface Configuration {
  readonly global: object;
  readonly rule_files: readonly string[];
  readonly scrape_configs: readonly ScrapeConfig[];
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

const [OWN_RULES, LIBRARY_RULES] = ['rules.yaml', 'floodgate-alerts.yaml'].map((file) =>
  (parse(readFileSync(join(FOLDER, file), 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
    ({ rules }) => rules,
  ),
) as [Rule[], Rule[]];
const RULES = [...OWN_RULES, ...LIBRARY_RULES];
const CONFIGURATION = parse(textOf('prometheus', 'prometheus.yml')) as Configuration;

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

interface Annotation {
  readonly name: string;
  readonly expr: string;
  readonly iconColor: string;
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query: string | { readonly query: string };
  readonly multi?: boolean;
  readonly includeAll?: boolean;
  readonly allValue?: string;
}

interface Dashboard {
  readonly panels: readonly Panel[];
  readonly annotations: { readonly list: readonly Annotation[] };
  readonly templating: { readonly list: readonly Variable[] };
}

const DASHBOARD = JSON.parse(textOf('grafana', 'dashboard.json')) as Dashboard;
/** The library's own, which fits any application. */
const LIBRARY = JSON.parse(readFileSync(join(MONITORING, 'dashboard.json'), 'utf8')) as Dashboard;
const VARIABLES = LIBRARY.templating.list.filter(({ type }) => type === 'query');
/** The colours of the light theme. Those of the dark one do not show on a light page. */
const PALETTE = new Map(
  Array.from(
    readFileSync(join(DEPLOY, '../libs/palette/palette.css'), 'utf8')
      .split('@media')[0]!
      .matchAll(/--([\w-]+): (#\w+);/g),
    ([, name, colour]): [string, string] => [name!, colour!],
  ),
);
const OWN_PANELS = DASHBOARD.panels.filter(({ type }) => type !== 'row');
const PANELS = [...OWN_PANELS, ...LIBRARY.panels.filter(({ type }) => type !== 'row')];

/** An expression as Grafana sends it, with the values that a user has chosen. Several values are a regular expression. */
function asSent(expression: string, chosen: Readonly<Record<string, string>> = {}): string {
  return VARIABLES.reduce(
    (text, { name, allValue }) => text.replaceAll(`$${name}`, chosen[name] ?? allValue!),
    expression.replaceAll('$__rate_interval', '1m'),
  );
}

/** Every expression, with the alert or the panel that contains it. */
const EXPRESSIONS: readonly (readonly [where: string, expression: string])[] = [
  ...RULES.map(({ alert, expr }): [string, string] => [alert, expr]),
  ...PANELS.flatMap(({ title, targets }) =>
    targets!.map(({ expr }): [string, string] => [`panel ${title}`, asSent(expr)]),
  ),
  ...[...DASHBOARD.annotations.list, ...LIBRARY.annotations.list].map(({ name, expr }): [string, string] => [
    `annotation ${name}`,
    asSent(expr),
  ]),
];

/**
 * Those that have samples: no policy of the application is in shadow or has an `else`, and no call is scheduled here. test/metrics and
 * test/e2e/limiter have their labels.
 */
const SAMPLED = EXPRESSIONS.filter(([, expression]) => !isUnused(expression));

let redis: ManifestRedis;
let service: Service;
let exporter: Daemon;
let prometheus: Daemon;

beforeAll(async () => {
  redis = await ManifestRedis.start();
  service = await start('Express', { RATE_LIMIT: 'on', SHED_LOAD: 'on', REDIS_URL: redis.url });
  const container = podOf('rate-limit-redis-exporter').containers[0];
  exporter = await Daemon.start(
    'prometheus-redis-exporter',
    (port) => ['-web.listen-address', `127.0.0.1:${port}`],
    container.readinessProbe!.httpGet!.path,
    { ...variablesOf(container, redis.secret), REDIS_ADDR: redis.server.url },
  );
  const targets: Record<string, string> = { 'ride-hailing': service.url, 'rate-limit-redis': exporter.url };
  prometheus = await Daemon.start(
    'prometheus',
    (port, directory) => {
      cpSync(FOLDER, directory, { recursive: true });
      writeFileSync(join(directory, 'here.yml'), stringify(configurationFor(targets)));
      return [
        `--config.file=${directory}/here.yml`,
        `--storage.tsdb.path=${directory}/data`,
        `--web.listen-address=127.0.0.1:${port}`,
      ];
    },
    '/-/ready',
  );
  for (let i = 0; i < 25; i++) {
    await request(service.url).post('/api/rides/request').set('X-User-Id', 'ada').send(RIDE);
  }
  await request(service.url).post('/api/drivers/location').send([]);
}, START_LIMIT_MS);

afterAll(async () => {
  await prometheus?.[Symbol.asyncDispose]();
  await exporter?.[Symbol.asyncDispose]();
  await service?.app.close();
  await redis?.[Symbol.asyncDispose]();
  rmSync(FOLDER, { recursive: true });
});

/** The configuration of the repository with local targets and short intervals. */
function configurationFor(targets: Readonly<Record<string, string>>): object {
  return {
    ...CONFIGURATION,
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    scrape_configs: CONFIGURATION.scrape_configs.map((job) => ({
      ...job,
      dns_sd_configs: [],
      static_configs: [{ targets: [new URL(targets[job.job_name]!).host] }],
    })),
  };
}

async function api<T>(path: string): Promise<T> {
  const response = await fetch(`${prometheus.url}/api/v1/${path}`);
  const body = (await response.json()) as { status: string; data: T; error?: string };
  if (body.status !== 'success') throw new Error(`${path}: ${body.error}`);
  return body.data;
}

async function query(expression: string): Promise<readonly Sample[]> {
  return (await api<{ result: Sample[] }>(`query?query=${encodeURIComponent(expression)}`)).result;
}

describe('promtool', () => {
  it.each([
    ['check', 'rules', 'rules.yaml'],
    ['check', 'rules', 'floodgate-alerts.yaml'],
    ['check', 'config', 'prometheus.yml'],
    ['test', 'rules', 'rules.test.yaml'],
  ])('%s %s %s', async (...args) => {
    const file = join(FOLDER, args.pop()!);
    expect(await promtool(...args, file)).toContain('SUCCESS');
  });

  it('reports a wrong rule', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'floodgate-rules-'));
    try {
      cpSync(FOLDER, directory, { recursive: true });
      const broken = textOf('prometheus', 'rules.yaml').replace('> 0.85', '> 0.96');
      writeFileSync(join(directory, 'rules.yaml'), broken);
      await expect(promtool('test', 'rules', join(directory, 'rules.test.yaml'))).rejects.toThrow(
        'MatchingUtilisation',
      );
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe('the alerts', () => {
  const tests = (
    parse(textOf('prometheus', 'rules.test.yaml')) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts?: object[] }[] }[];
    }
  ).tests.flatMap(({ alert_rule_test }) => alert_rule_test);

  it.each(RULES.map(({ alert }) => alert))('%s has a test that fires it and a test that does not', (alert) => {
    const expected = tests
      .filter(({ alertname }) => alertname === alert)
      .map(({ exp_alerts = [] }) => exp_alerts.length);
    expect(expected).toContain(0);
    expect(Math.max(...expected)).toBeGreaterThan(0);
  });

  it.each(LIBRARY_RULES)('$alert leads to the page of the library', ({ annotations }) => {
    expect(annotations.runbook).toBe(URL_OF_PAGE);
  });

  it.each(RULES)('$alert has a section of the guide', ({ alert }) => {
    expect(textOf('README.md').split('\n')).toContain(`### ${alert}`);
  });

  it.each(OWN_RULES)('$alert names its section', ({ alert, annotations }) => {
    expect(annotations.runbook).toBe(`deploy/README.md#${alert.toLowerCase()}`);
  });

  it('contain the numbers of the manifests', () => {
    const expressionOf = (alert: string): string => RULES.find((rule) => rule.alert === alert)!.expr;
    const { data } = all('ConfigMap').find(({ metadata }) => metadata.name === 'ride-hailing')!;
    expect(expressionOf('RateLimitShareWrong')).toContain(`!= ${data['PODS']}`);
    expect(workload('ride-hailing').spec.replicas).toBe(Number(data['PODS']));
    expect(expressionOf('MatchingLimitNearCapacity')).toContain(`/ ${data['MATCHING_LIMIT']} `);
    const { cpu } = podOf('rate-limit-redis').containers[0].resources.limits;
    expect(cpu).toMatch(/^\d+m$/);
    expect(expressionOf('RateLimitRedisCpu')).toContain(`/ ${parseInt(cpu!) / 1000} `);
  });
});

describe('a real Prometheus', () => {
  it('gets a query for each metric of an expression', () => {
    const expression = 'sum by (le) (rate(a_b{c="d"}[5m])) / on (x) e:f > 0.3 and g or absent(h)';
    expect(metricsOf(expression)).toEqual(['a_b', 'e:f', 'g', 'h']);
  });

  it('scrapes the application', async () => {
    const requests = await until('a scrape', SCRAPE_LIMIT_MS, async () => {
      const samples = await query('rate_limiter_requests_total{policy="rider"}');
      return samples.some(({ value }) => value[1] === '25') && samples;
    });
    expect(requests.map(({ metric }) => metric)).toEqual([
      expect.objectContaining({ job: 'ride-hailing', policy: 'rider', algorithm: 'token-bucket' }),
    ]);
    const [allowed, rejected] = await Promise.all(
      ['allowed', 'rejected'].map((what) => query(`rate_limiter_${what}_total{policy="rider"}`)),
    );
    expect(Number(allowed![0]!.value[1]) + Number(rejected![0]!.value[1])).toBe(25);
  });

  it('scrapes Redis, through an exporter that may run INFO only', async () => {
    const up = await until('a scrape', SCRAPE_LIMIT_MS, async () => (await query('redis_up'))[0]);
    expect(up.value[1]).toBe('1');
    const [max] = await query('redis_memory_max_bytes');
    expect(max!.value[1]).toBe(`${256 * 1024 ** 2}`);
    expect(await query('up')).toHaveLength(2);
    expect(await query('up == 1')).toHaveLength(2);
  });

  it('evaluates every rule', async () => {
    interface Group {
      readonly rules: readonly { readonly name: string; readonly health: string; readonly lastError?: string }[];
    }
    const rules = await until('an evaluation', SCRAPE_LIMIT_MS, async () => {
      const found = (await api<{ groups: Group[] }>('rules')).groups.flatMap((group) => group.rules);
      return found.length === RULES.length && found.every(({ health }) => health !== 'unknown') && found;
    });
    expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
  });

  it.each(SAMPLED)('understands %s, and has its metrics', async (_, expression) => {
    await query(expression);
    const names = metricsOf(expression);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      await until(`a sample of ${name}`, SCRAPE_LIMIT_MS, async () => {
        return (await query(name)).length > 0;
      });
    }
  });

  it.each(SAMPLED)('has the labels of %s', async (_, expression) => {
    for (const [, name, matchers] of expression.matchAll(/([a-z][\w:]*)\{([^}]*)\}/g)) {
      const labels = [...matchers!.matchAll(/(\w+)(=~|!=|!~|=)"([^"]*)"/g)];
      const [sample] = await query(name!);
      for (const [, label] of labels) expect(Object.keys(sample!.metric)).toContain(label);
    }
    for (const [, labels] of expression.matchAll(/ by \(([^)]*)\)/g)) {
      const known = await Promise.all(metricsOf(expression).map(async (name) => (await query(name))[0]!.metric));
      for (const label of labels!.split(', ')) expect(known.some((metric) => label in metric)).toBe(true);
    }
  });
});

describe('the scrape configuration', () => {
  it.each(CONFIGURATION.scrape_configs)('finds the pods of $job_name by the name of a headless service', (job) => {
    const [{ names, port }] = job.dns_sd_configs;
    const found = all('Service').find(
      ({ metadata }) => names[0] === `${metadata.name}.ride-hailing.svc.cluster.local`,
    )!;
    expect(found.spec.clusterIP).toBe('None');
    expect(found.spec.ports.map((one) => one.port)).toEqual([port]);
  });
});

describe('the dashboard', () => {
  it('uses metrics that the application serves, and shows those that an operator needs', async () => {
    const { text } = await request(service.url).get('/metrics').expect(200);
    const served = new Exposition(text).types;
    const shown = new Set(PANELS.flatMap(({ targets }) => targets!.flatMap(({ expr }) => metricsOf(expr))));
    const bare = [...shown].map((name) => name.replace(/_(bucket|sum|count)$/, ''));
    const own = [...served.keys()].filter((name) => /^(rate_limiter|ride_hailing)_/.test(name));
    expect(own.filter((name) => !bare.includes(name))).toEqual([]);
    const reaching = PANELS.find(({ title }) => title === 'Requests that reach matching')!;
    for (const { expr } of reaching.targets!) expect(expr).toContain('status!="429"');
  });

  it('counts a route as reaching matching when the route has the limit of matching', async () => {
    const [, routes] = /route=~"([^"]+)"/.exec(EXPRESSIONS.find(([where]) => where.endsWith('reach matching'))![1])!;
    const counted = routes!.split('|').toSorted((a, b) => (a < b ? -1 : 1));
    expect(counted).toEqual(['/api/drivers/nearby', '/api/fares/estimate', '/api/rides/request']);
    const limited: string[] = [];
    for (const route of counted) {
      const before = await matchingRequests();
      const sent = route.endsWith('nearby')
        ? request(service.url).get(route).query({ lat: RIDE.pickup_lat, lng: RIDE.pickup_lng })
        : request(service.url).post(route).send(RIDE);
      await sent;
      if ((await matchingRequests()) === before + 1) limited.push(route);
    }
    expect(limited).toEqual(counted);
  });

  it('offers the policies and the pods of the metrics, several or all of them', async () => {
    expect(VARIABLES.map(({ name, multi, includeAll, allValue }) => [name, multi, includeAll, allValue])).toEqual([
      ['job', true, true, '.*'],
      ['pod', true, true, '.*'],
      ['policy', true, true, '.*'],
    ]);
    expect(DASHBOARD.templating.list.map(({ name }) => name)).toEqual(['datasource', 'pod']);
    expect(await valuesOf('job')).toEqual(['ride-hailing']);
    expect(await valuesOf('policy')).toEqual(expect.arrayContaining(['matching', 'rider']));
    expect(await valuesOf('pod')).toEqual([new URL(service.url).host]);
  });

  it('lets the variables choose in every panel whose metrics have the label', async () => {
    for (const [name, expression] of PANELS.flatMap(({ title, targets }) =>
      targets!.map(({ expr }): [string, string] => [title, expr]),
    )) {
      for (const metric of metricsOf(expression)) {
        const samples = (await query(metric)).map((sample) => sample.metric);
        // What `isUnused` names has no samples here: it has the labels of its namesake.
        const labels = samples.find(({ job }) => job === 'ride-hailing') ??
          samples[0] ?? { policy: '', job: 'ride-hailing' };
        const selectors = [...expression.matchAll(new RegExp(`\\b${metric}(\\{[^}]*\\})?(?!\\w)`, 'g'))];
        for (const [, selector = ''] of selectors) {
          const where = `${name}: ${metric}${selector}`;
          expect([where, selector.includes('policy=~"$policy"')]).toEqual([where, 'policy' in labels]);
          expect([where, selector.includes('instance=~"$pod"')]).toEqual([where, labels['job'] === 'ride-hailing']);
        }
      }
    }
  });

  it('has data in every panel, for everything and for chosen policies and pods', async () => {
    await until('a 429', SCRAPE_LIMIT_MS, async () => (await burst()).includes(429));
    const chosen = { policy: '(rider|matching|exports)', pod: new URL(service.url).host.replaceAll('.', '\\\\.') };
    for (const { title, targets } of PANELS) {
      for (const { expr } of targets!) {
        if (isUnused(expr)) continue;
        for (const values of [{}, chosen]) {
          const expression = asSent(expr, values);
          await until(`data for ${title}: ${expression}`, SCRAPE_LIMIT_MS, async () => (await query(expression))[0]);
        }
      }
    }
    expect(
      await query(asSent('sum(rate_limiter_requests_total{policy=~"$policy"})', { policy: '(none|nothing)' })),
    ).toEqual([]);
  });

  it('begins with four numbers, which tell of a burst', async () => {
    const first = OWN_PANELS.filter(({ gridPos }) => gridPos.y === 1).toSorted((a, b) => a.gridPos.x - b.gridPos.x);
    expect(first.map(({ title, type }) => [title, type])).toEqual([
      ['Who decides', 'stat'],
      ['Refused', 'stat'],
      ['Failed', 'stat'],
      ['p99', 'stat'],
    ]);
    const [decides, refused, failed, p99] = first.map(({ targets }) => asSent(targets![0]!.expr));
    const number = async (expression: string): Promise<number> => Number((await query(expression))[0]?.value[1]);
    await until('a share of refused requests', SCRAPE_LIMIT_MS, async () => {
      await burst();
      return (await number(refused!)) > 0.1;
    });
    // The first requests of each burst are served. How many bursts come before a scrape is the machine's affair.
    expect(await number(refused!)).toBeLessThan(1);
    expect(await number(failed!)).toBe(0);
    expect(await number(p99!)).toBeGreaterThan(0.001);
    expect(await number(decides!)).toBe(1);
  });

  it('has the colours of the palette, and no other colour with a meaning', () => {
    const text = JSON.stringify([DASHBOARD, LIBRARY]);
    const used = Array.from(text.matchAll(/"(?:color|fixedColor|iconColor)":"([^"]*)"/g), ([, colour]) => colour!);
    // Grafana's own names of what depends on its theme.
    const known = new Set([...PALETTE.values(), 'text', 'transparent']);
    expect(used.filter((colour) => !known.has(colour))).toEqual([]);
    const stacked = JSON.stringify(PANELS.find(({ title }) => title === 'What clients get'));
    for (const name of ['served', 'refused', 'failed']) {
      const colour = { id: 'color', value: { mode: 'fixed', fixedColor: PALETTE.get(name) } };
      expect(stacked).toContain(JSON.stringify({ matcher: { id: 'byName', options: name }, properties: [colour] }));
    }
    expect(DASHBOARD.annotations.list.map(({ iconColor }) => iconColor)).toEqual([
      PALETTE.get('outage'),
      PALETTE.get('outage'),
    ]);
  });

  it.each([DASHBOARD, LIBRARY])('has no overlapping panels, and an id for each: %#', ({ panels }) => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const places = panels.map(({ title, gridPos }) => ({ title, ...gridPos }));
    const overlapping = places.flatMap((a, i) =>
      places
        .slice(i + 1)
        .filter((b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h)
        .map((b) => `${a.title} and ${b.title}`),
    );
    expect(overlapping).toEqual([]);
    expect(places.filter(({ x, w }) => x + w > 24)).toEqual([]);
  });
});

// The last test: Redis does not come back.
describe('an outage of Redis', () => {
  it('is an annotation, and the fallback decides', async () => {
    const [away, fallback] = DASHBOARD.annotations.list.map(({ expr }) => asSent(expr));
    expect(await query(away!)).toEqual([]);
    await redis.server.stop();
    await until('the annotation', SCRAPE_LIMIT_MS, async () => {
      await request(service.url).post('/api/rides/request').set('X-User-Id', 'joan').send(RIDE);
      return (await query(away!)).length > 0 && (await query(fallback!)).length > 0;
    });
    const decides = PANELS.find(({ title }) => title === 'Who decides')!;
    expect((await query(asSent(decides.targets![0]!.expr)))[0]!.value[1]).toBe('0');
  });
});

/** The values of a variable: label_values(metric, label). */
async function valuesOf(variable: string): Promise<string[]> {
  const { query: asked } = VARIABLES.find(({ name }) => name === variable)!;
  const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(typeof asked === 'string' ? asked : asked.query)!;
  return api<string[]>(`label/${label}/values?match[]=${metric}`);
}

/** Sends requests of one rider at once. On a busy machine the bucket refills meanwhile. @returns the statuses */
function burst(): Promise<number[]> {
  return Promise.all(
    Array.from({ length: 60 }, async () => {
      const sent = request(service.url).post('/api/rides/request').set('X-User-Id', 'grace').send(RIDE);
      return (await sent).status;
    }),
  );
}

async function matchingRequests(): Promise<number> {
  const { text } = await request(service.url).get('/metrics');
  const exposition = new Exposition(text);
  const ofClass = (priority: string): number => {
    const labels = { policy: 'matching', algorithm: 'token-bucket', priority };
    return exposition.get('rate_limiter_requests_total', labels)!;
  };
  return ofClass('rides') + ofClass('estimates');
}

/** Whether an expression is about what the application does not use, or not here. */
function isUnused(expression: string): boolean {
  return /rate_limiter_(?:shadow_|run_over_|scheduled_|time_in_queue_|leases)/.test(expression);
}

/** The names of the metrics in an expression: its words without strings, grouping labels and functions. */
function metricsOf(expression: string): string[] {
  const bare = expression
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/g, '')
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right) *\([^)]*\)/g, '');
  const words = [...bare.matchAll(/[a-z_][\w:]*\b(?! *\()/gi)].map(([word]) => word);
  return [...new Set(words)].filter((word) => !['and', 'or', 'unless', 'by', 'bool'].includes(word));
}
