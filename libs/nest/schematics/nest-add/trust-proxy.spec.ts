import { describe, expect, it } from '@jest/globals';
import { added, type Files } from '../test-support/memory-tree.js';
import { COMMONJS, ESM, FASTIFY } from '../test-support/projects.js';

const INGRESS = 'apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: api\n';

describe('a sign of a proxy', () => {
  it.each<[string, Files]>([
    ['Heroku', { Procfile: 'web: node dist/main' }],
    ['nginx', { 'deploy/nginx/api.conf': '', 'nginx/nginx.conf': 'location / {\n  proxy_pass http://app:3000;\n}' }],
    ['the compose file', { 'docker-compose.prod.yml': 'services:\n  edge:\n    image: traefik:v3\n' }],
    ['Kubernetes', { 'deploy/k8s/api/ingress.yaml': INGRESS }],
    ['Kubernetes', { 'k8s/all.yml': `kind: Deployment\n---\n${INGRESS.replace('Ingress', 'HTTPRoute')}` }],
    ['Helm', { 'chart/values.yaml': 'image: api\ningress:\n  className: nginx\n  enabled: true\n' }],
  ])('sets trust proxy: %s', (means, signs) => {
    const { files, changed, info } = added({ ...ESM, ...signs });
    expect(changed).toEqual(['src/app.module.ts', 'src/main.ts']);
    expect(files['src/main.ts']).toContain("app.set('trust proxy', 1);");
    expect(info).toMatch(new RegExp(`src/main.ts: trust proxy is set, as \\S+ shows .*${means} in front`));
  });

  it.each<[string, Files]>([
    ['an nginx that serves files', { 'nginx.conf': 'location / {\n  root /srv;\n}' }],
    ['a compose file without a proxy', { 'docker-compose.yml': 'services:\n  redis:\n    image: redis:7\n' }],
    [
      "a chart's Ingress that its values leave out",
      {
        'chart/templates/ingress.yaml': `{{- if .Values.ingress.enabled -}}\n${INGRESS}{{- end }}`,
        'chart/values.yaml': 'ingress:\n  enabled: false\nautoscaling:\n  enabled: true\n',
      },
    ],
    ['a Procfile of a package', { 'node_modules/other/Procfile': '' }],
  ])('is none: %s', (_what, more) => {
    expect(added({ ...ESM, ...more }).changed).toEqual(['src/app.module.ts']);
  });

  it('is no container: a warning says what is unknown', () => {
    const { changed, warnings } = added({ ...ESM, Dockerfile: 'FROM node' });
    expect(changed).toEqual(['src/app.module.ts']);
    expect(warnings).toMatch(
      /^Dockerfile does not tell whether a proxy stands in front\. If one does, set trust proxy/,
    );
  });

  it('gives way to --trust-proxy and --no-trust-proxy', () => {
    expect(added(ESM, { trustProxy: true }).files['src/main.ts']).toContain("'trust proxy'");
    expect(added({ ...ESM, Procfile: '' }, { trustProxy: false }).changed).toEqual(['src/app.module.ts']);
  });
});

describe('trust proxy', () => {
  it('is a setting of Express', () => {
    for (const files of [ESM, COMMONJS]) {
      const main = added(files, { trustProxy: true }).files['src/main.ts']!;
      expect(main).toContain("import type { NestExpressApplication } from '@nestjs/platform-express';\n");
      expect(main).toContain(`  const app = await NestFactory.create<NestExpressApplication>(AppModule);
  // The number of proxies in front.
  app.set('trust proxy', 1);
  await app.listen(process.env.PORT ?? 3000);
`);
    }
  });

  it('leaves what follows in the line', () => {
    const inOneLine = ESM['src/main.ts']!.replace(/;\n  await app\.listen\(/, '; await app.listen(');
    expect(inOneLine).not.toBe(ESM['src/main.ts']);
    const main = added({ ...ESM, 'src/main.ts': inOneLine }, { trustProxy: true }).files['src/main.ts']!;
    expect(main).toContain("app.set('trust proxy', 1); await app.listen(");
  });

  it.each([
    ['new FastifyAdapter()', "new FastifyAdapter({ trustProxy: 'loopback, linklocal, uniquelocal' })"],
    [
      'new FastifyAdapter({ logger: true })',
      "new FastifyAdapter({ logger: true, trustProxy: 'loopback, linklocal, uniquelocal' })",
    ],
  ])('is an option of the adapter of Fastify: %s', (before, after) => {
    const main = FASTIFY['src/main.ts']!.replace('new FastifyAdapter()', before);
    const { files } = added({ ...FASTIFY, 'src/main.ts': main }, { trustProxy: true });
    expect(files['src/main.ts']).toBe(main.replace(before, after));
  });

  it.each([
    ["app.set('trust proxy', 'loopback');", ESM],
    ['new FastifyAdapter({ trustProxy: hops });', FASTIFY],
  ])('that is there stays: %s', (text, files) => {
    const { changed } = added({ ...files, 'src/server.ts': text }, { trustProxy: true });
    expect(changed).toEqual(['src/app.module.ts']);
  });

  it.each([
    [
      'const app: INestApplication = await NestFactory.create(AppModule)',
      'declares the application as INestApplication',
    ],
    ['app = await NestFactory.create(AppModule)', 'does not keep the application in a const of its own'],
    ['const app = await NestFactory.create(AppModule, adapterOf(env))', 'takes its adapter from elsewhere'],
    [
      'const app = await NestFactory.create(AppModule, new FastifyAdapter(options))',
      'gives its FastifyAdapter options',
    ],
  ])('is left to a person, who reads where and what: %s', (creating, why) => {
    const main = ESM['src/main.ts']!.replace('const app = await NestFactory.create(AppModule)', creating);
    const { changed, warnings } = added({ ...ESM, 'src/main.ts': main }, { trustProxy: true });
    expect(changed).toEqual(['src/app.module.ts']);
    expect(warnings).toMatch(
      new RegExp(
        `^Trust proxy is not set, since src/main.ts:5 ${why}\\. As a proxy stands in front, write there: .*(?:trust proxy|trustProxy)`,
      ),
    );
  });
});
