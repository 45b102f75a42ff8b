import { load } from 'js-yaml';
import { filesBelow, textOf, type Tree } from './schematic.js';

/** How many folders deep files of a deployment are looked for. */
const DEPTH = 4;
const YAML = /\.ya?ml$/;
const COMPOSE = /^(?:docker-)?compose[\w.-]*\.ya?ml$/;

/** A file that shows what stands in front of the application. */
export interface Sign {
  readonly path: string;
  readonly means: string;
}

/** Hosts that put a proxy of their own before each application. */
const HOSTS: Readonly<Record<string, string>> = {
  Procfile: 'the router of Heroku',
  'heroku.yml': 'the router of Heroku',
  'fly.toml': 'the proxy of Fly.io',
  'render.yaml': 'the load balancer of Render',
  'railway.json': 'the proxy of Railway',
  'railway.toml': 'the proxy of Railway',
  'apprunner.yaml': 'the load balancer of AWS App Runner',
};

interface Kind {
  readonly file: RegExp;
  readonly shows: (text: string) => boolean;
  readonly means: string;
}

const PROXY_IMAGE = /^(?:[\w.-]+\/)*(?:nginx|traefik|caddy|haproxy|envoy|nginx-proxy)(?:[:@]|$)/;

/** Files whose text shows a proxy. */
const KINDS: readonly Kind[] = [
  { file: /nginx|^default\.conf/, shows: hasLine(/^[ \t]*proxy_pass[ \t]/m), means: 'nginx' },
  { file: /^Caddyfile$/, shows: hasLine(/^[ \t]*reverse_proxy[ \t]/m), means: 'Caddy' },
  { file: /^haproxy\.cfg$/, shows: hasLine(/^[ \t]*backend[ \t]/m), means: 'HAProxy' },
  {
    file: COMPOSE,
    shows: (text) =>
      Object.values(at(valueOf(text), 'services') ?? {}).some((one) => PROXY_IMAGE.test(textAt(one, 'image'))),
    means: 'the proxy of the compose file',
  },
  {
    file: YAML,
    // A template of Helm is no YAML.
    shows: hasLine(/^kind:[ \t]*['"]?(?:Ingress|IngressRoute|HTTPRoute|Gateway|VirtualService)['"]?[ \t\r]*$/m),
    means: 'the ingress of Kubernetes',
  },
  {
    file: /^values[\w.-]*\.ya?ml$/,
    shows: (text) => at(at(valueOf(text), 'ingress'), 'enabled') === true,
    means: 'the ingress of Helm',
  },
  {
    file: /^app\.ya?ml$/,
    shows: (text) => textAt(valueOf(text), 'runtime').startsWith('nodejs'),
    means: 'the load balancer of Google App Engine',
  },
];

function hasLine(line: RegExp): Kind['shows'] {
  return (text) => line.test(text);
}

/** The most characters of a YAML text that is read: parsing more would take seconds. */
const MOST_CHARACTERS = 500_000;

/** The value of a YAML text; undefined for what is none. */
function valueOf(text: string): unknown {
  if (text.length > MOST_CHARACTERS) return undefined;
  try {
    return load(text);
  } catch {
    return undefined;
  }
}

/** A member of a value; undefined without one. */
function at(value: unknown, key: string): unknown {
  return (Object(value) as Readonly<Record<string, unknown>>)[key];
}

function textAt(value: unknown, key: string): string {
  const text = at(value, key);
  return typeof text === 'string' ? text : '';
}

/** A Helm chart writes its Ingress only where its values say so. */
const CONDITIONAL = /\.Values\.ingress\.enabled/;

/** The first file that shows a proxy in front of the application. */
export function signOfProxy(tree: Tree): Sign | undefined {
  for (const path of filesBelow(tree, '/', () => true, DEPTH)) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const host = path === `/${name}` ? HOSTS[name] : undefined;
    if (host !== undefined) return { path: path.slice(1), means: host };
    const kinds = KINDS.filter(({ file }) => file.test(name));
    const text = kinds.length > 0 ? textOf(tree, path) : undefined;
    if (text === undefined || CONDITIONAL.test(text)) continue;
    const kind = kinds.find((one) => one.shows(text));
    if (kind !== undefined) return { path: path.slice(1), means: kind.means };
  }
  if (tree.getDir('/').subdirs.includes('.ebextensions')) {
    return { path: '.ebextensions', means: 'nginx of AWS Elastic Beanstalk' };
  }
  return undefined;
}

/** A file that tells of a container. Something may stand before it, or nothing. */
export function signOfContainer(tree: Tree): string | undefined {
  const [path] = filesBelow(tree, '/', (name) => /^(?:Dockerfile|Containerfile)\b/.test(name) || COMPOSE.test(name), 1);
  return path?.slice(1);
}
