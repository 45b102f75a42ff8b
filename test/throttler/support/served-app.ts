import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Line } from './conversation.js';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FIXTURE = join(ROOT, 'test/throttler/fixture');
const SERVE = join(ROOT, 'test/throttler/support/serve.ts');
const LOADER = join(ROOT, 'test/support/typescript-loader.js');

/** Headers that say nothing about the application. */
const OF_CONNECTION = ['date', 'connection', 'keep-alive'];

/** What a client sees of a response. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  /** Those of limits, and those that a handler sets. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A copy of the application in `fixture/`, in a folder of its own in which packages are found. */
export class AppFolder implements AsyncDisposable {
  private constructor(readonly path: string) {}

  /** @param filled false: without sources */
  static async make(filled = true): Promise<AppFolder> {
    const path = await mkdtemp(join(tmpdir(), 'throttler-app-'));
    if (filled) await cp(FIXTURE, join(path, 'src'), { recursive: true });
    else await mkdir(join(path, 'src'));
    await symlink(join(ROOT, 'node_modules'), join(path, 'node_modules'));
    const dependencies = { '@nestjs/common': '^12.0.0', '@nestjs/throttler': '^6.7.1' };
    await writeFile(join(path, 'package.json'), `${JSON.stringify({ type: 'module', dependencies }, null, 2)}\n`);
    await writeFile(join(path, 'tsconfig.json'), JSON.stringify(TSCONFIG, null, 2));
    return new AppFolder(path);
  }

  get sources(): string {
    return join(this.path, 'src');
  }

  /** Rewrites every source file. */
  async rewrite(change: (source: string) => string): Promise<void> {
    for (const name of await readdir(this.sources)) {
      const file = join(this.sources, name);
      await writeFile(file, change(await readFile(file, 'utf8')));
    }
  }

  /** Type errors, as the compiler prints them. */
  async typeErrors(): Promise<string> {
    const compiler = fork(join(ROOT, 'node_modules/typescript/bin/tsc'), ['-p', this.path], { silent: true });
    const chunks: Buffer[] = [];
    compiler.stdout!.on('data', (chunk: Buffer) => chunks.push(chunk));
    await once(compiler, 'close');
    return Buffer.concat(chunks).toString();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true });
  }
}

const TSCONFIG = {
  extends: join(ROOT, 'tsconfig.json'),
  compilerOptions: {
    noEmit: true,
    rootDir: '/',
    paths: paths(),
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
  },
  include: ['src'],
  exclude: [],
};

function paths(): Record<string, string[]> {
  const entries = (name: string, folder: string): Record<string, string[]> => ({
    [name]: [join(ROOT, folder, 'index.ts')],
    [`${name}/*`]: [join(ROOT, folder, '*.ts')],
  });
  return { ...entries('floodgate', 'libs/floodgate/src'), ...entries('nestjs-floodgate', 'libs/nest/src') };
}

/** An application in a process of its own, on a clock that stands still. */
export class ServedApp implements AsyncDisposable {
  private readonly agent = new Agent({ keepAlive: true });

  private constructor(
    private readonly child: ChildProcess,
    private readonly url: string,
    private readonly log: Buffer[],
  ) {}

  static async start(folder: AppFolder, platform: string): Promise<ServedApp> {
    const execArgv = ['--import', LOADER];
    const child = fork(SERVE, [folder.sources, platform], { cwd: folder.path, execArgv, silent: true });
    const log: Buffer[] = [];
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (chunk: Buffer) => log.push(chunk));
    const ended = once(child, 'exit').then(() => {
      throw new Error(`the application did not start:\n${Buffer.concat(log).toString()}`);
    });
    const [{ url }] = (await Promise.race([once(child, 'message'), ended])) as [{ url: string }];
    ended.catch(() => undefined);
    return new ServedApp(child, url, log);
  }

  /** What it has logged: warnings and errors. */
  get logged(): string {
    return Buffer.concat(this.log).toString();
  }

  /** Says a conversation. Each instant's lines go out together, the lines to one resource in their order. */
  async hold(conversation: readonly Line[]): Promise<Answer[]> {
    const answers: Answer[] = [];
    for (let from = 0, to = 1; from < conversation.length; from = to, to++) {
      while (to < conversation.length && conversation[to]!.advance === 0) to++;
      await this.advance(conversation[from]!.advance);
      const sequences = new Map<string, number[]>();
      for (let i = from; i < to; i++) {
        const resource = conversation[i]!.path.split('/')[1]!;
        sequences.set(resource, [...(sequences.get(resource) ?? []), i]);
      }
      const sent = [...sequences.values()].map(async (lines) => {
        for (const i of lines) answers[i] = await this.say(conversation[i]!);
      });
      await Promise.all(sent);
    }
    return answers;
  }

  private async advance(ms: number): Promise<void> {
    const advanced = once(this.child, 'message');
    this.child.send({ advance: ms });
    await advanced;
  }

  private say({ method, path, headers }: Line): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = request(`${this.url}${path}`, { agent: this.agent, method, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const shown = Object.entries(response.headers).filter(([name]) => !OF_CONNECTION.includes(name));
          const body = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode!, headers: Object.fromEntries(shown) as Answer['headers'], body });
        });
      });
      sent.on('error', reject);
      sent.end();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.agent.destroy();
    const closed = once(this.child, 'exit');
    this.child.kill();
    await closed;
  }
}
