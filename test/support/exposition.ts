/** Parses the metrics of a Prometheus text. Throws for a line that breaks the format. */
export class Exposition {
  private readonly values = new Map<string, number>();
  readonly types = new Map<string, string>();

  constructor(readonly text: string) {
    for (const line of text.split('\n')) {
      if (line === '' || /^# (?:HELP|UNIT) /.test(line)) continue;
      const type = /^# TYPE ([a-z_:][a-z0-9_:]*) (counter|gauge|histogram|summary)$/i.exec(line);
      if (type !== null) {
        if (this.types.has(type[1]!)) throw new Error(`Twice: ${line}`);
        this.types.set(type[1]!, type[2]!);
      } else this.sample(line);
    }
  }

  /** The sample with exactly these labels; undefined when there is none. */
  get(name: string, labels: Readonly<Record<string, string | number>> = {}): number | undefined {
    return this.values.get(idOf(name, Object.entries(labels)));
  }

  /** The labels of all samples of a name. */
  labelsOf(name: string): Record<string, string>[] {
    const ids = [...this.values.keys()].map((id) => JSON.parse(id) as [string, [string, string][]]);
    return ids.filter(([of]) => of === name).map(([, labels]) => Object.fromEntries(labels));
  }

  /** The sum of all samples of a name. */
  sum(name: string): number {
    return this.labelsOf(name).reduce((total, labels) => total + this.get(name, labels)!, 0);
  }

  private sample(line: string): void {
    const parts = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (parts === null) throw new Error(`Not a sample: ${line}`);
    const [, name, inner = '', value] = parts;
    if (!this.types.has(name!) && !this.types.has(name!.replace(/_(bucket|sum|count)$/, ''))) {
      throw new Error(`Without a type: ${line}`);
    }
    const pairs = [...inner.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/gy)];
    if (pairs.map(([pair]) => pair).join('') !== inner) throw new Error(`Labels that are none: ${line}`);
    const labels = pairs.map(([, label, text]): [string, string] => [label!, unescaped(text!)]);
    const id = idOf(name!, labels);
    if (this.values.has(id)) throw new Error(`Twice: ${line}`);
    if (!/^(nan|[+-]?inf)$/i.test(value!) && Number.isNaN(Number(value))) throw new Error(`No number: ${line}`);
    this.values.set(id, Number(value!.replace(/inf$/i, 'Infinity')));
  }
}

function idOf(name: string, labels: readonly [string, string | number][]): string {
  const sorted = labels.map(([label, value]) => [label, String(value)]).toSorted(([a], [b]) => (a! < b! ? -1 : 1));
  return JSON.stringify([name, sorted]);
}

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
}
