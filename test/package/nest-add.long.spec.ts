import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve as resolvePath } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Application } from './support/packed.js';

jest.setTimeout(120_000); // starts processes

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));
const PACKAGES = ['@nestjs/common', '@nestjs/core', '@nestjs/platform-express', '@nestjs/platform-fastify'];

const applications: Application[] = [];
afterEach(() => applications.splice(0).forEach((application) => application.delete()));

const PLATFORMS = {
  Express: { importing: '', create: 'NestFactory.create(AppModule)' },
  Fastify: {
    importing: "import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';\n",
    create: 'NestFactory.create<NestFastifyApplication>(AppModule, new FastifyAdapter())',
  },
} as const;

/** What a client sees: two addresses behind the proxy, three requests each. */
const BURST = `
  const url = await app.getUrl();
  for (const address of ['203.0.113.1', '203.0.113.2']) {
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) statuses.push((await fetch(url, { headers: { 'X-Forwarded-For': address } })).status);
    console.log('STATUSES ' + statuses.join(' '));
  }
  await app.close();`;

/** A project as `nest new` writes it, with a decorator on its route. */
function project(
  type: 'module' | 'commonjs',
  { importing, create }: (typeof PLATFORMS)['Express' | 'Fastify'],
): Application {
  const application = new Application([
    ...PACKAGES,
    '@nestjs/cli',
    '@types/node',
    'reflect-metadata',
    'rxjs',
    'typescript',
  ]);
  applications.push(application);
  const end = type === 'module' ? '.js' : '';
  const dependencies = Object.fromEntries(PACKAGES.map((name) => [name, '*']));
  application.write('package.json', JSON.stringify({ type, dependencies }, undefined, 2));
  application.write('nest-cli.json', '{ "collection": "@nestjs/schematics", "sourceRoot": "src" }');
  application.write(
    'tsconfig.json',
    JSON.stringify({
      compilerOptions: {
        module: 'nodenext',
        target: 'ES2023',
        types: ['node'],
        outDir: 'dist',
        rootDir: 'src',
        strict: true,
        isolatedModules: true,
        emitDecoratorMetadata: true,
        experimentalDecorators: true,
        skipLibCheck: true,
      },
      include: ['src'],
    }),
  );
  application.write('Procfile', 'web: node dist/main');
  application.write(
    'src/app.controller.ts',
    `import { Controller, Get } from '@nestjs/common';
import { RateLimit } from 'nestjs-floodgate';

@Controller()
export class AppController {
  @Get()
  @RateLimit({ algorithm: 'token-bucket', capacity: 2, refill: '1/h' })
  hello(): string {
    return 'Hello!';
  }
}
`,
  );
  application.write(
    'src/app.module.ts',
    `import { Module } from '@nestjs/common';
import { AppController } from './app.controller${end}';

@Module({
  imports: [],
  controllers: [AppController],
})
export class AppModule {}
`,
  );
  application.write(
    'src/main.ts',
    `import { NestFactory } from '@nestjs/core';
${importing}import { AppModule } from './app.module${end}';

async function bootstrap() {
  const app = await ${create};
  await app.listen(0, '127.0.0.1');
${BURST}
}
void bootstrap();
`,
  );
  return application;
}

function run(program: string, args: readonly string[], cwd: string): Promise<{ status: number; printed: string }> {
  const env: NodeJS.ProcessEnv = { ...process.env, NO_COLOR: '1', NODE_OPTIONS: '' };
  delete env['REDIS_URL'];
  return new Promise((resolve) => {
    execFile(process.execPath, [resolvePath(MODULES, program), ...args], { cwd, env }, (error, out, err) =>
      resolve({ status: error === null ? 0 : 1, printed: stripVTControlCharacters(out + err) }),
    );
  });
}

describe('nest add nestjs-floodgate', () => {
  it.each([
    ['module', 'Express', 'ip', 'ioredis'],
    ['commonjs', 'Fastify', 'user', 'redis'],
  ] as const)(
    'makes an application that compiles and answers 429, by the command line of Nest: %s, %s, %s, %s',
    async (type, platform, identity, client) => {
      const { folder } = project(type, PLATFORMS[platform]);
      const add = ['add', 'nestjs-floodgate', '--skip-install', `--client=${client}`, `--identity=${identity}`];
      const first = await run('@nestjs/cli/bin/nest.js', add, folder);
      expect(first.printed).toContain('UPDATE src/app.module.ts');
      expect(first.printed).toContain(
        'src/main.ts: trust proxy is set, as Procfile shows the router of Heroku in front',
      );
      const files = ['package.json', 'src/app.module.ts', 'src/main.ts'];
      const texts = (): string[] => files.map((file) => readFileSync(join(folder, file), 'utf8'));
      const written = texts();
      const second = await run('@nestjs/cli/bin/nest.js', add, folder);
      expect(second.printed).toContain('Nothing to be done.');
      expect(texts()).toEqual(written);

      expect(await run('typescript/bin/tsc', [], folder)).toEqual({ status: 0, printed: '' });
      const { printed } = await run(join(folder, 'dist/main.js'), [], folder);
      expect(printed.match(/STATUSES.*/g)).toEqual(['STATUSES 200 200 429', 'STATUSES 200 200 429']);
    },
  );

  it('names a flag that it does not know, and changes nothing', async () => {
    const { folder } = project('module', PLATFORMS.Express);
    const module = join(folder, 'src/app.module.ts');
    const before = readFileSync(module, 'utf8');
    const add = ['add', 'nestjs-floodgate', '--skip-install', '--clinet=redis'];
    const { printed } = await run('@nestjs/cli/bin/nest.js', add, folder);
    expect(printed).toMatch(/Unknown option .*clinet.*Valid options are: client/);
    expect(readFileSync(module, 'utf8')).toBe(before);
  });
});
