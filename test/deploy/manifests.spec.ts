import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import request from 'supertest';
import { classDecoration, decorationOf } from '../../libs/nest/src/handlers/read-metadata.js';
import type { Handler } from '../../libs/nest/src/handlers/route.js';
import { ALL_ADDRESSES } from '../../src/config/configuration.js';
import { readConfiguration } from '../../src/config/read-configuration.js';
import { type Service as App, start } from '../app/support/start-app.js';
import { startMatching } from '../app/support/start-matching.js';
import {
  all,
  type Container,
  DATABASE_SECRET,
  DEPLOY,
  newSecret,
  type Peer,
  podOf,
  type Secret,
  secretTemplate,
  type Selector,
  textOf,
  variablesOf,
  workload,
} from './support/manifests.js';

const ROOT = join(DEPLOY, '..');
const NAMESPACE = 'ride-hailing';
const SECRET = newSecret();
const WORKLOADS = all('Deployment', 'StatefulSet').map(({ metadata }) => metadata.name);
const SERVICES = all('Service');
const POLICIES = all('NetworkPolicy');
const NODE_WORKLOADS = ['ride-hailing', 'matching'];

const containerOf = (name: string): Container => podOf(name).containers[0];
const labelsOf = (name: string): Readonly<Record<string, string>> => workload(name).spec.template.metadata.labels;

/** The workloads whose pods have all these labels. */
function selected({ matchLabels = {} }: Selector): string[] {
  return WORKLOADS.filter((name) =>
    Object.entries(matchLabels).every(([label, value]) => labelsOf(name)[label] === value),
  );
}

function portsOf(name: string): number[] {
  return (containerOf(name).ports ?? []).map(({ containerPort }) => containerPort);
}

/** The workloads of this namespace that the peers of a rule select. */
function inside(peers: readonly Peer[]): string[] {
  return peers.flatMap(({ podSelector, namespaceSelector }) =>
    podSelector !== undefined && namespaceSelector === undefined ? selected(podSelector) : [],
  );
}

describe('the manifests', () => {
  it.each(SERVICES)('service $metadata.name leads to a port of one workload', ({ spec }) => {
    const [name, ...others] = selected({ matchLabels: spec.selector });
    expect(others).toEqual([]);
    const ports = Object.fromEntries(containerOf(name!).ports!.map((port) => [port.name, port.containerPort]));
    for (const { port, targetPort } of spec.ports) {
      // A headless service has no address of its own, so no proxy can map its port.
      const reached = spec.clusterIP === 'None' ? port : ports[targetPort];
      expect([targetPort, reached]).toEqual([targetPort, ports[targetPort] ?? 'no such port']);
    }
  });

  it.each(WORKLOADS)('%s runs without privileges, as the namespace demands', (name) => {
    const { securityContext } = podOf(name);
    expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect((securityContext as { runAsUser?: number }).runAsUser).toBeGreaterThan(0);
    expect(containerOf(name).securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('refers to secrets, keys and files that exist', () => {
    const { metadata, stringData } = secretTemplate();
    expect(metadata.namespace).toBe(NAMESPACE);
    for (const name of WORKLOADS) {
      for (const { valueFrom } of containerOf(name).env ?? []) {
        if (valueFrom === undefined || valueFrom.secretKeyRef.name === DATABASE_SECRET.name) continue;
        expect(valueFrom.secretKeyRef.name).toBe(metadata.name);
        expect(Object.keys(stringData)).toContain(valueFrom.secretKeyRef.key);
      }
      for (const { secret } of podOf(name).volumes ?? []) {
        if (secret === undefined) continue;
        expect(secret.secretName).toBe(metadata.name);
        for (const { key } of secret.items) expect(Object.keys(stringData)).toContain(key);
      }
      const volumes = (podOf(name).volumes ?? []).map((volume) => volume.name);
      for (const mount of containerOf(name).volumeMounts ?? []) expect(volumes).toContain(mount.name);
    }
    const [{ args, volumeMounts }] = podOf('rate-limit-redis').containers;
    const { mountPath } = volumeMounts!.find((mount) => mount.name === 'users')!;
    expect(args![args!.indexOf('--aclfile') + 1]).toBe(`${mountPath}/users.acl`);
  });

  it('sets variables that the application reads, to values that it accepts', () => {
    for (const name of NODE_WORKLOADS) {
      const variables = variablesOf(containerOf(name), SECRET);
      const read = new Set<string>();
      const seen = new Proxy(variables, {
        get: (target, variable: string) => {
          read.add(variable);
          return target[variable];
        },
      });
      const configuration = readConfiguration(seen);
      expect(Object.keys(variables).filter((variable) => !read.has(variable))).toEqual([]);
      expect(portsOf(name)).toEqual([name === 'matching' ? configuration.matching.port : configuration.port]);
    }
    const { pods, matching, redisUrl } = readConfiguration(variablesOf(containerOf('ride-hailing'), SECRET));
    expect(pods).toBe(workload('ride-hailing').spec.replicas);
    for (const url of [matching.url!, redisUrl!]) {
      const { hostname, port } = new URL(url);
      const { spec } = SERVICES.find(({ metadata }) => `${metadata.name}.${NAMESPACE}.svc` === hostname)!;
      expect(spec.ports.map((one) => `${one.port}`)).toEqual([port]);
    }
  });

  it.each(NODE_WORKLOADS)(
    '%s gets no variable of the service `matching`: the URL in its MATCHING_PORT would end it',
    (name) => {
      expect(podOf(name).enableServiceLinks).toBe(false);
      const linked = { ...variablesOf(containerOf(name), SECRET), MATCHING_PORT: 'tcp://10.0.0.1:4000' };
      expect(() => readConfiguration(linked)).toThrow('MATCHING_PORT');
    },
  );

  it.each(NODE_WORKLOADS)('%s listens on all addresses of its pod, by its manifest and by its image', (name) => {
    expect(readConfiguration(variablesOf(containerOf(name), SECRET)).bind).toBe(ALL_ADDRESSES);
    const [, variables = ''] = /^ENV (NODE_ENV=.*)$/m.exec(textOf('Dockerfile'))!;
    const image = Object.fromEntries(variables.split(' ').map((one) => one.split('=')));
    expect(readConfiguration(image)).toMatchObject({ bind: ALL_ADDRESSES, controlRoom: 'watch' });
  });
});

describe('the network policies', () => {
  const to = (name: string): typeof POLICIES =>
    POLICIES.filter(({ spec }) => selected(spec.podSelector).includes(name));

  it('deny all connections by default', () => {
    const denyAll = POLICIES.find(({ metadata }) => metadata.name === 'nobody')!;
    expect(denyAll.spec).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
  });

  it('let only the application and the exporter reach Redis', () => {
    const rules = to('rate-limit-redis').flatMap(({ spec }) => spec.ingress ?? []);
    const peers = rules.flatMap(({ from }) => from);
    expect(peers.filter(({ namespaceSelector }) => namespaceSelector !== undefined)).toEqual([]);
    expect(inside(peers)).toEqual(['ride-hailing', 'rate-limit-redis-exporter']);
  });
});

describe('the secret', () => {
  it('has new passwords each time, and no placeholder left', () => {
    const other = newSecret();
    for (const key of ['probe-password', 'exporter-password', 'redis-url', 'admin-token']) {
      expect(SECRET.stringData[key]).not.toBe(other.stringData[key]);
      expect(SECRET.stringData[key]).toMatch(/[0-9a-f]{48}/);
    }
    expect(JSON.stringify(SECRET)).not.toContain('REPLACE');
    expect(Object.keys(SECRET.stringData)).toEqual(Object.keys(secretTemplate().stringData));
  });

  it('gives Redis hashes only', () => {
    const { 'users.acl': users, ...others } = SECRET.stringData;
    const passwords = Object.values(others).map((text) => /[0-9a-f]{48}/.exec(text)![0]);
    expect(new Set(passwords).size).toBe(4);
    for (const password of passwords) expect(users).not.toContain(password);
  });

  it('grants the rights that docs/redis.md lists, word for word', () => {
    const rightsIn = (text: string): string => /~rl:\*[^\n]*/.exec(text)![0].replace('resetchannels ', '');
    const page = readFileSync(join(ROOT, 'docs/redis.md'), 'utf8');
    const command = /ACL SETUSER floodgate[^`]*/
      .exec(page)![0]
      .replaceAll(/'| \\\n */g, (one) => (one === "'" ? '' : ' '));
    expect(rightsIn(aclLine(SECRET, 'floodgate'))).toBe(rightsIn(command));
  });
});

function aclLine({ stringData }: Secret, user: string): string {
  return stringData['users.acl']!.split('\n').find((line) => line.startsWith(`user ${user} `))!;
}

describe('a pod that shuts down', () => {
  const ROOM_S = 3;
  let app: App;

  beforeAll(async () => {
    app = await start();
  });
  afterAll(() => app.app.close());

  /** The longest wait for a leaky bucket over all routes, in seconds. */
  function longestWait(): number {
    const scanner = new MetadataScanner();
    const controllers = app.app.get(DiscoveryService, { strict: false }).getControllers();
    const policies = controllers.flatMap(({ metatype, instance }) => {
      const prototype = Object.getPrototypeOf(instance) as Record<string, Handler>;
      const type = metatype as Type;
      const methods = scanner.getAllMethodNames(prototype).map((name) => decorationOf(type, prototype[name]!));
      return [classDecoration(type), ...methods].flatMap((one) => (one?.policies ?? []) as readonly unknown[]);
    });
    const waits = policies
      .filter((policy): policy is { capacity: number; drain: number } => {
        return (policy as { algorithm?: string }).algorithm === 'leaky-bucket';
      })
      .map(({ capacity, drain }) => capacity / drain);
    expect(waits.length).toBeGreaterThan(0);
    return Math.max(...waits);
  }

  const preStop = (name: string): number => {
    const [sleep, seconds] = containerOf(name).lifecycle!.preStop.exec.command;
    expect(sleep).toBe('sleep');
    return Number(seconds);
  };

  it('continues until no proxy sends requests and the longest leaky bucket has drained', () => {
    expect(preStop('ride-hailing')).toBeGreaterThan(longestWait() + ROOM_S);
  });
});

describe('the probes of the processes', () => {
  it('request existing paths on existing ports', async () => {
    const app = await start({ RATE_LIMIT: 'on' });
    const matching = await startMatching();
    try {
      const urls: Readonly<Record<string, string>> = { 'ride-hailing': app.url, matching: matching.url };
      for (const name of NODE_WORKLOADS) {
        const { startupProbe, readinessProbe, livenessProbe, ports } = containerOf(name);
        for (const probe of [startupProbe, readinessProbe, livenessProbe]) {
          if (probe === undefined) continue;
          expect(probe.httpGet!.port).toBe(ports![0]!.name);
          await request(urls[name]!).get(probe.httpGet!.path).expect(200);
        }
      }
    } finally {
      await app.app.close();
      await matching.app.close();
    }
  });
});
