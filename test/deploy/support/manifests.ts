import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

export const DEPLOY = join(import.meta.dirname, '../../../deploy');
const KUBERNETES = join(DEPLOY, 'kubernetes');

type Labels = Readonly<Record<string, string>>;

interface Named {
  readonly metadata: { readonly name: string };
}

export interface Reference {
  readonly name: string;
  readonly key: string;
}

export interface Probe {
  readonly timeoutSeconds?: number;
  readonly exec?: { readonly command: readonly [string, ...string[]] };
  readonly httpGet?: { readonly path: string; readonly port: string };
}

export interface Container {
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { name: string; value?: string; valueFrom?: { secretKeyRef: Reference } }[];
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly lifecycle?: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly resources: { readonly limits: Labels };
  readonly securityContext: object;
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface PodSpec {
  readonly containers: readonly [Container];
  readonly terminationGracePeriodSeconds?: number;
  readonly enableServiceLinks?: boolean;
  readonly securityContext: object;
  readonly volumes?: readonly {
    readonly name: string;
    readonly secret?: { readonly secretName: string; readonly items: readonly { key: string; path: string }[] };
  }[];
}

export interface Workload extends Named {
  readonly kind: 'Deployment' | 'StatefulSet';
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: PodSpec };
  };
}

export interface Service extends Named {
  readonly kind: 'Service';
  readonly spec: {
    readonly clusterIP?: string;
    readonly selector: Labels;
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
  };
}

export interface Selector {
  readonly matchLabels?: Labels;
}

export interface Peer {
  readonly podSelector?: Selector;
  readonly namespaceSelector?: Selector;
}

export interface NetworkPolicy extends Named {
  readonly kind: 'NetworkPolicy';
  readonly spec: {
    readonly podSelector: Selector;
    readonly policyTypes: readonly string[];
    readonly ingress?: readonly { readonly from: readonly Peer[] }[];
  };
}

interface ConfigMap extends Named {
  readonly kind: 'ConfigMap';
  readonly data: Labels;
}

interface DisruptionBudget extends Named {
  readonly kind: 'PodDisruptionBudget';
}

export interface Secret {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly stringData: Labels;
}

type Resource = Workload | Service | NetworkPolicy | ConfigMap | DisruptionBudget;

export function textOf(...path: string[]): string {
  return readFileSync(join(DEPLOY, ...path), 'utf8');
}

/** The resources that `kubectl apply -k` applies. The parser rejects duplicate keys. */
const RESOURCES: readonly Resource[] = (
  parse(textOf('kubernetes', 'kustomization.yaml')) as { resources: string[] }
).resources.flatMap((file) =>
  parseAllDocuments(textOf('kubernetes', file)).map((document) => {
    if (document.errors.length > 0) throw new Error(`${file}: ${document.errors.join()}`);
    return document.toJS() as Resource;
  }),
);

export function all<K extends Resource['kind']>(...kinds: K[]): Extract<Resource, { kind: K }>[] {
  return RESOURCES.filter((one): one is Extract<Resource, { kind: K }> => kinds.includes(one.kind as K));
}

export function workload(name: string): Workload {
  const found = all('Deployment', 'StatefulSet').find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw new Error(`No workload is named ${name}`);
  return found;
}

export function podOf(name: string): PodSpec {
  return workload(name).spec.template.spec;
}

/** The committed template, with placeholders. */
export function secretTemplate(): Secret {
  return parse(textOf('kubernetes', 'secret.template.yaml')) as Secret;
}

/** A new secret, as secret.sh generates it. */
export function newSecret(): Secret {
  return parse(execFileSync('sh', [join(KUBERNETES, 'secret.sh')], { encoding: 'utf8' })) as Secret;
}

/** The secret that the operator creates by the command in deploy/README.md, and a value of its only key. */
export const DATABASE_SECRET = {
  name: 'ride-hailing-database',
  key: 'url',
  value: 'postgres://app:secret@db.example/city',
};

/** The variables of a container, as its process gets them. */
export function variablesOf({ env = [], envFrom = [] }: Container, secret: Secret): Record<string, string> {
  const maps = envFrom.map(({ configMapRef }) => {
    const map = all('ConfigMap').find(({ metadata }) => metadata.name === configMapRef.name);
    if (map === undefined) throw new Error(`No ConfigMap is named ${configMapRef.name}`);
    return map.data;
  });
  const own = env.map(({ name, value, valueFrom }): [string, string] => {
    const given = value ?? valueOf(valueFrom!.secretKeyRef, secret);
    if (typeof given !== 'string') throw new Error(`${name} has no value that is a string`);
    return [name, given];
  });
  return Object.assign({}, ...maps, Object.fromEntries(own)) as Record<string, string>;
}

function valueOf({ name, key }: Reference, secret: Secret): string | undefined {
  if (name === DATABASE_SECRET.name && key === DATABASE_SECRET.key) return DATABASE_SECRET.value;
  return secret.stringData[key];
}
