import type { Instrument, PrometheusMetric } from '../../../libs/floodgate/src/watch/publish/instrument.js';
import { attributeOf } from '../../../libs/floodgate/src/watch/publish/opentelemetry.js';

const HEAD = `# Recording rules: the metrics that OpenTelemetry publishes, under the names of prom-client, which alerts.yaml and dashboard.json ask for.
# They fit what Prometheus gets by OTLP, by the collector, and from the Prometheus exporter of OpenTelemetry's SDK, which leaves units out.
# Made of the table of instruments: WRITE_RULES=1 npm run jest -- test/deploy/monitoring
groups:
  - name: nestjs-floodgate-opentelemetry
    rules:
`;

/** What monitoring/opentelemetry.yaml contains. */
export function recordingRules(instruments: readonly Instrument[]): string {
  const rules = instruments.flatMap((instrument) =>
    instrument.prometheus.flatMap((metric) =>
      (instrument.kind === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']).map(
        (suffix) =>
          `      - { record: ${metric.name}${suffix}, expr: '${expressionOf(instrument, metric, suffix)}' }\n`,
      ),
    ),
  );
  return HEAD + rules.join('');
}

function expressionOf({ name, kind, unit, labels }: Instrument, { result }: PrometheusMetric, suffix: string): string {
  const bare = name.replaceAll('.', '_');
  const ofUnit = {
    counter: '_total',
    sum: '',
    gauge: unit === '1' ? '(_ratio)?' : '',
    histogram: unit === 's' ? '(_seconds)?' : '',
  };
  const wanted = result === 'allowed' || result === 'rejected' ? `${textOf('result')}="${result}"` : '';
  const whole = bare + ofUnit[kind] + suffix;
  const inner = whole.includes('(') ? `{__name__=~"${whole}"}` : whole + (wanted === '' ? '' : `{${wanted}}`);
  const kept = labels.filter((label) => result === undefined || label !== 'result');
  const summed = result === undefined ? inner : `sum without (${textOf('result')}) (${inner})`;
  return kept.reduce((text, label) => `label_replace(${text}, "${label}", "$1", "${textOf(label)}", "(.*)")`, summed);
}

/** The name of an attribute as a label. */
function textOf(label: string): string {
  return attributeOf(label).replaceAll('.', '_');
}
