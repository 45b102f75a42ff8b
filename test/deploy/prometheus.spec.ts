import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
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
const FOLDER = join(DEPLOY, 'prometheus');

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

const RULES = (parse(textOf('prometheus', 'rules.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  ({ rules }) => rules,
);
const CONFIGURATION = parse(textOf('prometheus', 'prometheus.yml')) as Configuration;

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

const DASHBOARD = JSON.parse(textOf('grafana', 'dashboard.json')) as { panels: Panel[] };
const PANELS = DASHBOARD.panels.filter(({ type }) => type !== 'row');

/** Every expression, with the alert or the panel that contains it. */
const EXPRESSIONS: readonly (readonly [where: string, expression: string])[] = [
  ...RULES.map(({ alert, expr }): [string, string] => [alert, expr]),
  ...PANELS.flatMap(({ title, targets }) =>
    // Grafana replaces the variable with an interval.
    targets!.map(({ expr }): [string, string] => [`panel ${title}`, expr.replaceAll('$__rate_interval', '1m')]),
  ),
];

/** Those that have samples: no policy of the application is in shadow. test/metrics has the labels of the others. */
const SAMPLED = EXPRESSIONS.filter(([, expression]) => !expression.includes('rate_limiter_shadow_'));

let redis: ManifestRedis;
let service: Service;
let exporter: Daemon;
let prometheus: Daemon;

beforeAll(async () => {
  redis = await ManifestRedis.start();
  service = await start('Express', { RATE_LIMIT: 'on', REDIS_URL: redis.url });
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

  it.each(RULES)('$alert names a section of the guide that exists', ({ alert, annotations }) => {
    expect(annotations.runbook).toBe(`deploy/README.md#${alert.toLowerCase()}`);
    expect(textOf('README.md').split('\n')).toContain(`### ${alert}`);
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

  it('has no overlapping panels, and an id for each', () => {
    const { panels } = DASHBOARD;
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

async function matchingRequests(): Promise<number> {
  const { text } = await request(service.url).get('/metrics');
  const labels = { policy: 'matching', algorithm: 'token-bucket' };
  return new Exposition(text).get('rate_limiter_requests_total', labels)!;
}

/** The names of the metrics in an expression: its words without strings, grouping labels and functions. */
function metricsOf(expression: string): string[] {
  const bare = expression
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/g, '')
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right) *\([^)]*\)/g, '');
  const words = [...bare.matchAll(/[a-z_][\w:]*\b(?! *\()/gi)].map(([word]) => word);
  return [...new Set(words)].filter((word) => !['and', 'or', 'unless', 'by', 'bool'].includes(word));
}
