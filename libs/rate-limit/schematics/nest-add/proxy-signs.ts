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
  readonly text: RegExp;
  readonly means: string;
}

/** Files whose text shows a proxy. */
const KINDS: readonly Kind[] = [
  { file: /nginx|^default\.conf/, text: /^\s*proxy_pass\s/m, means: 'nginx' },
  { file: /^Caddyfile$/, text: /^\s*reverse_proxy\s/m, means: 'Caddy' },
  { file: /^haproxy\.cfg$/, text: /^\s*backend\s/m, means: 'HAProxy' },
  {
    file: COMPOSE,
    text: /^\s*image:\s*['"]?(?:[\w.-]+\/)*(?:nginx|traefik|caddy|haproxy|envoy|nginx-proxy)[:@'"\s]/m,
    means: 'the proxy of the compose file',
  },
  {
    file: YAML,
    text: /^kind:\s*['"]?(?:Ingress|IngressRoute|HTTPRoute|Gateway|VirtualService)['"]?\s*$/m,
    means: 'the ingress of Kubernetes',
  },
  {
    file: /^values[\w.-]*\.ya?ml$/,
    text: /^ingress:\s*\n(?:[ \t]+.*\n)*?[ \t]+enabled:\s*true\b/m,
    means: 'the ingress of Helm',
  },
  { file: /^app\.ya?ml$/, text: /^runtime:\s*nodejs/m, means: 'the load balancer of Google App Engine' },
];

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
    const kind = kinds.find((one) => one.text.test(text));
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
