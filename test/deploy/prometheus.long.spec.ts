import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { parse, stringify } from 'yaml';
import { RIDE } from '../app/support/requests.js';
import { type Service, start } from '../app/support/start-app.js';
import { Exposition } from '../support/exposition.js';
import { until } from '../support/faults/until.js';
import { Daemon, promtool } from '../support/prometheus.js';
import { flat, type Panel } from './support/dashboard.js';
import { ManifestRedis } from './support/manifest-redis.js';
import { DEPLOY, all, podOf, textOf, variablesOf, workload } from './support/manifests.js';

const START_LIMIT_MS = 60_000;
const SCRAPE_LIMIT_MS = 20_000;
const MONITORING = join(import.meta.dirname, '../../libs/nest/monitoring');

/** The folder as deploy/README.md has it: with the alerts of the package beside the application's. */
const FOLDER = mkdtempSync(join(tmpdir(), 'floodgate-prometheus-'));
cpSync(join(DEPLOY, 'prometheus'), FOLDER, { recursive: true });
cpSync(join(MONITORING, 'alerts.yaml'), join(FOLDER, 'floodgate-alerts.yaml'));

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook_url: string };
}

interface Configuration {
  readonly global: object;
  readonly rule_files: readonly string[];
  readonly scrape_configs: readonly { readonly job_name: string }[];
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [time: number, value: string];
}

const [OWN_RULES, LIBRARY_RULES] = ['rules.yaml', 'floodgate-alerts.yaml'].map((file) =>
  (parse(readFileSync(join(FOLDER, file), 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) =>
    rules.filter((rule) => 'alert' in rule),
  ),
) as [Rule[], Rule[]];
const RULES = [...OWN_RULES, ...LIBRARY_RULES];
const CONFIGURATION = parse(textOf('prometheus', 'prometheus.yml')) as Configuration;

interface Annotation {
  readonly name: string;
  readonly expr: string;
}

interface Variable {
  readonly name: string;
  readonly type: string;
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
const PANELS = flat([...DASHBOARD.panels, ...LIBRARY.panels]).filter(({ type }) => type !== 'row');

/** An expression as Grafana sends it. */
function asSent(expression: string): string {
  return VARIABLES.reduce(
    (text, { name, allValue }) => text.replaceAll(`$${name}`, allValue!),
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

let redis: ManifestRedis;
let service: Service;
let exporter: Daemon;
let prometheus: Daemon;

beforeAll(async () => {
  redis = await ManifestRedis.start();
  service = await start({ RATE_LIMIT: 'on', SHED_LOAD: 'on', REDIS_URL: redis.url });
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
    ['check', 'config', 'prometheus.yml'],
    ['test', 'rules', 'rules.test.yaml'],
  ])('%s %s %s', async (...args) => {
    const file = join(FOLDER, args.pop()!);
    expect(await promtool(...args, file)).toContain('SUCCESS');
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

  it.each(RULES)('$alert has a section of the guide', ({ alert }) => {
    expect(textOf('README.md').split('\n')).toContain(`### ${alert}`);
  });

  it.each(OWN_RULES)('$alert has the address of that section as its runbook', ({ alert, annotations }) => {
    const guide = 'https://github.com/floodgate-nest/floodgate/blob/main/deploy/README.md';
    expect(annotations.runbook_url).toBe(`${guide}#${alert.toLowerCase()}`);
  });

  it('ask for the Redis of the scrape configuration, and for that of no other team', () => {
    expect(CONFIGURATION.scrape_configs.map(({ job_name }) => job_name)).toContain('rate-limit-redis');
    const asked = EXPRESSIONS.flatMap(([where, expression]) =>
      [...expression.matchAll(/\bredis_\w+(\{[^}]*\})?/g)].map(([, selector]) => [where, selector]),
    );
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter(([, selector]) => selector !== '{job="rate-limit-redis"}')).toEqual([]);
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
  it.each(EXPRESSIONS)('understands %s, and has its metrics', async (_, expression) => {
    await query(expression);
    const names = metricsOf(expression);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names.filter((one) => !UNUSED.test(one))) {
      await until(`a sample of ${name}`, SCRAPE_LIMIT_MS, async () => {
        return (await query(name)).length > 0;
      });
    }
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
});

/**
 * Metrics without samples: no policy of the application is in shadow or has an `else`, and no call is scheduled here. test/metrics and
 * test/e2e/limiter have their labels.
 */
const UNUSED = /^rate_limiter_(?:shadow_|run_over_|scheduled_|time_in_queue_|leases)/;

/** The names of the metrics in an expression: its words without strings, grouping labels and functions. */
function metricsOf(expression: string): string[] {
  const bare = expression
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/g, '')
    .replaceAll(/\b(by|without|on|ignoring|group_left|group_right) *\([^)]*\)/g, '');
  const words = [...bare.matchAll(/[a-z_][\w:]*\b(?! *\()/gi)].map(([word]) => word);
  return [...new Set(words)].filter((word) => !['and', 'or', 'unless', 'by', 'bool'].includes(word));
}
