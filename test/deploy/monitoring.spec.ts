import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimiter, RateLimitMetricsModule, RateLimitModule } from 'nestjs-floodgate';
import { Registry } from 'prom-client';
import { parse, stringify } from 'yaml';
import { INSTRUMENTS } from '../../libs/floodgate/src/watch/publish/instruments.js';
import { PrometheusMetrics } from '../metrics/support/otel.js';
import { Exposition } from '../support/exposition.js';
import { start } from '../support/http-app.js';
import { promtool } from '../support/prometheus.js';
import { flat, type Panel } from './support/dashboard.js';
import { recordingRules } from './support/recording-rules.js';

const FOLDER = join(import.meta.dirname, '../../libs/nest/monitoring');
const METRICS = INSTRUMENTS.flatMap(({ prometheus }) => prometheus.map(({ name }) => name));
const text = (file: string): string => readFileSync(join(FOLDER, file), 'utf8');

/** The names of the library's metrics in an expression. */
function metricsOf(expression: string): string[] {
  return [...expression.matchAll(/\brate_limiter_\w+/g)].map(([name]) => name.replace(/_(?:bucket|sum|count)$/, ''));
}

if (process.env.WRITE_RULES === '1') writeFileSync(join(FOLDER, 'opentelemetry.yaml'), recordingRules(INSTRUMENTS));

const { panels: rows } = JSON.parse(text('dashboard.json')) as { panels: readonly Panel[] };
const panels = flat(rows);
interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook_url: string };
}

const { groups } = parse(text('alerts.yaml')) as { groups: { rules: Alert[] }[] };
const alerts = groups.flatMap(({ rules }) => rules);
const shown = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => metricsOf(expr)));
const watched = alerts.flatMap(({ expr }) => metricsOf(expr));

describe("the package's dashboard, alerts and rules", () => {
  it.each(METRICS)('%s has a panel or an alert', (metric) => {
    expect([...shown, ...watched]).toContain(metric);
  });

  it('ask for no metric that the library does not publish', () => {
    expect([...new Set([...shown, ...watched])].filter((name) => !METRICS.includes(name))).toEqual([]);
  });

  it('each panel asks for the chosen jobs and processes, and for the policies where there are some', () => {
    for (const { targets = [] } of panels) {
      for (const { expr } of targets) {
        for (const [, name, selector] of expr.matchAll(/\b(rate_limiter_\w+?)(?:_bucket|_sum|_count)?\{([^}]*)\}/g)) {
          const { labels } = INSTRUMENTS.find(({ prometheus }) => prometheus.some((one) => one.name === name))!;
          const choices = [
            ...(labels.includes('policy') ? ['policy=~"$policy"'] : []),
            'job=~"$job"',
            'instance=~"$pod"',
          ];
          expect([name, selector]).toEqual([name, choices.join(',')]);
        }
      }
    }
  });

  it.each([
    ['RateLimitRefusals', 'Share of rejected requests, by policy', 0.3],
    ['RateLimitStoreFailures', 'Failures', 0.1],
    ['RateLimitFallbackInUse', 'Share decided without the store', 0.01],
    ['RateLimitDecisionLatency', 'Decision latency', 0.005],
    ['RateLimitFunctionFailures', 'Failures', 0.1],
  ])('%s has its threshold drawn in the panel "%s"', (name, title, threshold) => {
    expect(alerts.find(({ alert }) => alert === name)!.expr).toMatch(new RegExp(`> ${threshold}\\b`));
    const { defaults } = panels.find((panel) => panel.title === title)!.fieldConfig!;
    expect(defaults.thresholds!.steps.at(-1)!.value).toBe(threshold);
  });

  it('docs/metrics.md says what each alert means', () => {
    const page = readFileSync(join(import.meta.dirname, '../../docs/metrics.md'), 'utf8');
    for (const { alert } of alerts) expect(page.includes(`\n- \`${alert}\`: `) ? '' : alert).toBe('');
  });

  it('each alert has the address of that list as its runbook', () => {
    const runbook = 'https://github.com/floodgate-nest/floodgate/blob/main/docs/metrics.md#the-alerts';
    expect([...new Set(alerts.map(({ annotations }) => annotations.runbook_url))]).toEqual([runbook]);
  });

  it.each(['alerts.yaml', 'opentelemetry.yaml'])('promtool takes %s', async (file) => {
    expect(await promtool('check', 'rules', join(FOLDER, file))).toContain('SUCCESS');
  });
});

describe.each([
  ["the package's dashboard", join(FOLDER, 'dashboard.json')],
  ["the application's dashboard", join(import.meta.dirname, '../../deploy/grafana/dashboard.json')],
])('%s', (_, file) => {
  const { panels: top } = JSON.parse(readFileSync(file, 'utf8')) as { panels: readonly Panel[] };

  it('opens with the first row, and the others collapsed', () => {
    const found = top.filter(({ type }) => type === 'row');
    expect(found.map(({ collapsed }) => collapsed)).toEqual(found.map((_row, index) => index > 0));
    expect(top.slice(top.indexOf(found[1]!)).every(({ type }) => type === 'row')).toBe(true);
    expect(found.slice(1).every(({ panels: inner = [] }) => inner.length > 0)).toBe(true);
  });

  it('has no id twice, and no panel over another', () => {
    const all = flat(top);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    for (const one of all.filter(({ type }) => type !== 'row')) {
      const { x, y, w, h } = one.gridPos;
      expect(x + w).toBeLessThanOrEqual(24);
      const siblings = top.includes(one) ? top : top.find(({ panels: inner = [] }) => inner.includes(one))!.panels!;
      const over = siblings.filter(
        ({ gridPos: other }) => other.x < x + w && x < other.x + other.w && other.y < y + h && y < other.y + other.h,
      );
      expect(over.map(({ title }) => title)).toEqual([one.title]);
    }
  });

  it('has one unit in each panel', () => {
    for (const { title, targets = [], fieldConfig } of flat(top)) {
      expect([title, (fieldConfig?.overrides ?? []).filter((one) => /"unit"/.test(JSON.stringify(one)))]).toEqual([
        title,
        [],
      ]);
      const kinds = new Set(targets.map(({ expr }) => unitOf(expr)));
      expect([title, [...kinds].slice(1)]).toEqual([title, []]);
    }
  });

  it('draws the thresholds that a chart has', () => {
    for (const { title, type, fieldConfig } of flat(top)) {
      if (type !== 'timeseries' || fieldConfig!.defaults.thresholds === undefined) continue;
      expect([title, fieldConfig!.defaults.custom?.thresholdsStyle]).toEqual([title, { mode: 'dashed' }]);
    }
  });
});

/** What an expression measures: a share, seconds, a rate, bytes, or the subject of a gauge. */
function unitOf(expression: string): string {
  if (/\brate\(.*\/.*\brate\(/.test(expression) && !/_(?:sum|bucket)\b/.test(expression)) return 'share';
  if (/\bprocess_cpu_seconds_total\b|\bredis_cpu_\w+/.test(expression)) return 'cores';
  if (/batch_size/.test(expression)) return 'requests in a batch';
  if (/_seconds_(?:bucket|sum)\b|_seconds\{/.test(expression)) return 'seconds';
  if (/\brate\(/.test(expression)) return 'rate';
  return /\b(?:rate_limiter|ride_hailing|redis|up|nodejs)\w*/.exec(expression)![0];
}

describe('the recording rules for OpenTelemetry', () => {
  it('are those of the table of instruments', () => {
    expect(text('opentelemetry.yaml')).toBe(recordingRules(INSTRUMENTS));
  });

  @Controller()
  class Queue {
    @Get()
    @RateLimit({ name: 'queue', algorithm: 'leaky-bucket', capacity: 10, drain: 2 })
    get(): void {}
  }

  it.each(['the exporter of the SDK', 'OTLP'])(
    'have the figures of prom-client for the same requests: %s',
    async (by) => {
      await using otel = new PrometheusMetrics();
      const registry = new Registry();
      await using app = await start('Express', {
        imports: [
          RateLimitModule.forRoot({
            policies: {
              three: { algorithm: 'token-bucket', capacity: 3, refill: '1/h' },
              'three.tried': { algorithm: 'token-bucket', capacity: 1, refill: '1/h', mode: 'shadow' },
              spare: { algorithm: 'token-bucket', capacity: 1, refill: '1/h', else: 'rest' },
              rest: { algorithm: 'token-bucket', capacity: 9, refill: '1/h' },
              busy: { algorithm: 'token-bucket', capacity: 2, refill: '1/h', priorities: { high: 1, low: 0.5 } },
            },
            blockList: ['192.0.2.1'],
          }),
          RateLimitMetricsModule.forRoot({ registry }),
          { module: class Otel {}, imports: [RateLimitMetricsModule.forRoot({ meterProvider: otel.provider })] },
        ],
        controllers: [Queue],
      });
      // The second one waits.
      const queued = await Promise.all([app.send('/'), app.send('/')]);
      expect(queued.map(({ status }) => status)).toEqual([200, 200]);
      const limiter = app.app.get(RateLimiter);
      await limiter.schedule('rest', { kind: 'user', value: 'bob' }, () => undefined);
      for (const policy of ['three', 'spare', 'busy', 'three', 'spare', 'three', 'busy', 'three']) {
        await limiter.consume(policy, { kind: 'user', value: 'ada' });
      }
      const [theirs, ours] = [await otel.scrape(), new Exposition(await registry.metrics())];
      const names = [...theirs.types].filter(([name]) => name.startsWith('rate_limit_'));
      const otlp = await otel.otlpNames();
      const changed = [...otlp].filter(([name, translated]) => name.startsWith('rate_limit_') && name !== translated);
      expect(new Set(changed.map(([, translated]) => translated))).toEqual(
        new Set([
          'rate_limit_decision_duration_seconds',
          'rate_limit_overrides_loaded_ratio',
          'rate_limit_request_time_in_queue_seconds',
          'rate_limit_shed_level_ratio',
          'rate_limit_store_available_ratio',
        ]),
      );
      const samples = names.flatMap(([name, type]) =>
        (type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']).flatMap((suffix) =>
          theirs
            .labelsOf(name + suffix)
            .map((labels): [string, object, number] => [
              (by === 'OTLP' ? otlp.get(name)! : name) + suffix,
              labels,
              theirs.get(name + suffix, labels)!,
            ]),
        ),
      );
      const records = (parse(text('opentelemetry.yaml')) as { groups: { rules: { record: string }[] }[] }).groups[0]!
        .rules;
      const expected = records.flatMap(({ record }) =>
        ours.labelsOf(record).length === 0 || ours.sum(record) === 0 ? [] : [record],
      );
      // What the dashboard and the alerts ask for, of both publishers. Of the rest these requests leave nothing to compare.
      const asked = new Set([...shown, ...watched]);
      expect(records.map(({ record }) => metricsOf(record)[0]).filter((name) => !asked.has(name!))).toEqual([]);
      expect([...asked].filter((name) => !ours.types.has(name))).toEqual([]);
      expect(expected.length).toBeGreaterThan(10);
      const file = stringify({
        rule_files: [join(FOLDER, 'opentelemetry.yaml')],
        evaluation_interval: '1m',
        tests: [
          {
            interval: '1m',
            input_series: samples.map(([name, labels, value]) => ({
              series: `${name}${selectorOf(labels)}`,
              values: `${value}x2`,
            })),
            promql_expr_test: expected.map((record) => {
              const found = ours.labelsOf(record);
              const labels = [...new Set(found.flatMap((one) => Object.keys(one)))];
              return {
                expr: `round(sum by (${labels.join(', ')}) (${record}), 1e-6)`,
                eval_time: '2m',
                exp_samples: found.map((one) => ({
                  labels: selectorOf(one),
                  value: Number(ours.get(record, one)!.toFixed(6)),
                })),
              };
            }),
          },
        ],
      });
      const directory = mkdtempSync(join(tmpdir(), 'floodgate-rules-'));
      try {
        writeFileSync(join(directory, 'test.yaml'), file);
        expect(await promtool('test', 'rules', join(directory, 'test.yaml'))).toContain('SUCCESS');
      } finally {
        rmSync(directory, { recursive: true });
      }
    },
  );
});

function selectorOf(labels: object): string {
  return `{${Object.entries(labels)
    .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
    .join(',')}}`;
}
