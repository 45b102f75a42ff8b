import { transform } from '@swc/core';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Application, LIBRARY } from './support/packed.js';

/** The text of libs/nest/README.md in the packed library. */
const README = LIBRARY.textOf('README.md');
const BLOCKS = Array.from(README.matchAll(/^```(\w*)[^\n]*\n(.*?)^```$/gms), ([, language, text]) => ({
  language,
  text: text!,
}));
const blocks = (wanted: string): string[] =>
  BLOCKS.filter(({ language }) => language === wanted).map(({ text }) => text);

/** What stands in for `npx @nestjs/cli new`: its main.ts, and the burst that the reader sends with curl. */
const MAIN = `
  import { NestFactory } from '@nestjs/core';
  import { AppModule } from './app.module';
  async function bootstrap() {
    const app = await NestFactory.create(AppModule);
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    const answers = await Promise.all(Array.from({ length: 7 }, (_, i) => fetch(url + '/hello?n=' + (i + 1))));
    const rejected = answers.find(({ status }) => status === 429)!;
    console.log('STATUSES', answers.map(({ status }) => status).sort().join(' '));
    console.log('HEADERS', JSON.stringify(Object.fromEntries(rejected.headers)));
    console.log('BODY', await rejected.text());
    await app.close();
  }
  void bootstrap();`;

const applications: Application[] = [];
afterEach(() => applications.splice(0).forEach((application) => application.delete()));

/** Compiles the files as Nest does in an application of this format, and runs the first one. */
async function run(format: 'es6' | 'commonjs', files: Readonly<Record<string, string>>): Promise<string> {
  const application = new Application([
    '@nestjs/common',
    '@nestjs/core',
    '@nestjs/platform-express',
    'reflect-metadata',
    'rxjs',
  ]);
  applications.push(application);
  application.write('package.json', JSON.stringify({ type: format === 'es6' ? 'module' : 'commonjs' }));
  for (const [file, source] of Object.entries(files)) {
    const given = format === 'es6' ? source.replaceAll(/'(\.\/[\w.]+)'/g, "'$1.js'") : source;
    const { code } = await transform(given, {
      swcrc: false,
      module: { type: format },
      jsc: {
        target: 'es2022',
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
      },
    });
    application.write(file.replace(/\.ts$/, '.js'), code);
  }
  return application.run(Object.keys(files)[0]!.replace(/\.ts$/, '.js'));
}

describe.each(['es6', 'commonjs'] as const)('the README of the package, in an application of %s', (format) => {
  const [module, identity] = blocks('ts') as [string, string];

  it('leads to a 429', async () => {
    const printed = await run(format, { 'main.ts': MAIN, 'app.module.ts': module });
    const [statuses, answer] = blocks('text') as [string, string];
    const counted = Array.from(statuses.matchAll(/(\d+) (\d+)/g), ([, count, status]) =>
      Array.from({ length: Number(count) }, () => status),
    );
    expect(printed).toContain(`STATUSES ${counted.flat().join(' ')}`);
    expect(printed).not.toContain('is loaded'); // as copies.long.spec.ts shows where there are two
    const headers = JSON.parse(/^HEADERS (.*)$/m.exec(printed)![1]!) as Record<string, string>;
    for (const [, name, value] of answer.matchAll(/^([\w-]+): (.*)$/gm)) {
      const sent = headers[name!.toLowerCase()]!;
      // The shown instant is that of another day.
      expect(name === 'X-RateLimit-Reset' ? sent.replace(/^\d{10}$/, value!) : sent).toBe(value);
    }
    const body = JSON.parse(/^BODY (.*)$/m.exec(printed)![1]!) as object;
    const shown = JSON.parse(/^\{.*\}$/m.exec(answer)![0]) as object;
    expect({ ...body, retry_after_ms: 0 }).toEqual({ ...shown, retry_after_ms: 0 });
  });

  it('shows the line for identities', async () => {
    const [imports, line] = identity.trim().split('\n\n') as [string, string];
    const printed = await run(format, {
      'main.ts': `${imports}\nconst made = ${line.replace(/;.*/, '')};\nconsole.log(made.module === RateLimitModule);`,
    });
    expect(printed).toBe('true\n');
  });
});
