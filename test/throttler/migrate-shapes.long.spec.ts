import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, jest } from '@jest/globals';
import type { Line } from './support/conversation.js';
import { AppFolder, ServedApp } from './support/served-app.js';

jest.setTimeout(180_000); // starts processes

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Runs the command in a process of its own. */
async function migrate({ path }: AppFolder): Promise<string> {
  const execArgv = ['--import', join(ROOT, 'test/support/typescript-loader.js')];
  const command = fork(join(ROOT, 'libs/migrate/src/cli.ts'), [path], { execArgv, silent: true });
  const chunks: Buffer[] = [];
  for (const stream of [command.stdout!, command.stderr!]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(command, 'close');
  return Buffer.concat(chunks).toString();
}

async function sourcesOf({ sources }: AppFolder): Promise<Record<string, string>> {
  const names = (await readdir(sources)).filter((name) => name.endsWith('.ts'));
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(sources, name), 'utf8')] as const)),
  );
}

async function write({ sources }: AppFolder, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(join(sources, 'shared'), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(sources, name), text);
}

/** An application whose guard stands in a shared folder, and whose options come from a class. */
const SHAPED = {
  'shared/index.ts': `export * from './shared.guard.js';\nexport { Throttle } from '@nestjs/throttler';\n`,
  'shared/shared.guard.ts': `import { type ExecutionContext, Injectable } from '@nestjs/common';
import { ThrottlerGuard } from '@nestjs/throttler';

@Injectable()
export class SharedGuard extends ThrottlerGuard {
  protected override async shouldSkip(context: ExecutionContext): Promise<boolean> {
    return context.switchToHttp().getRequest<{ url: string }>().url === '/live';
  }
}
`,
  'limits.ts': `import { Injectable } from '@nestjs/common';
import { seconds, type ThrottlerModuleOptions, type ThrottlerOptionsFactory } from '@nestjs/throttler';

@Injectable()
export class Limits implements ThrottlerOptionsFactory {
  createThrottlerOptions(): ThrottlerModuleOptions {
    return { throttlers: [{ limit: 3, ttl: seconds(10), blockDuration: seconds(20) }] };
  }
}
`,
  'api.guard.ts': `import { Injectable } from '@nestjs/common';
import { SharedGuard } from './shared/index.js';

@Injectable()
export class ApiGuard extends SharedGuard {
  protected override async getTracker(req: Record<string, any>): Promise<string> {
    return req.headers['x-client'];
  }
}
`,
  'app.module.ts': `import { Controller, Get, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ThrottlerModule } from '@nestjs/throttler';
import { ApiGuard } from './api.guard.js';
import { Limits } from './limits.js';
import { Throttle } from './shared/index.js';

@Controller()
export class Routes {
  @Get('list')
  list(): void {}

  @Get('live')
  live(): void {}

  @Get('strict')
  @Throttle({ default: { limit: 1, ttl: 5000, blockDuration: 5000 } })
  strict(): void {}
}

@Module({
  imports: [ThrottlerModule.forRootAsync({ useClass: Limits })],
  controllers: [Routes],
  providers: [{ provide: APP_GUARD, useClass: ApiGuard }],
})
export class AppModule {}
`,
};

describe('the codemod', () => {
  it('writes the same sources where a barrel file passes throttler on', async () => {
    await using plain = await AppFolder.make();
    await migrate(plain);
    await using folder = await AppFolder.make();
    await folder.rewrite((source) => source.replaceAll("'@nestjs/throttler'", "'./shared/index.js'"));
    await write(folder, {
      'shared/index.ts': "export * from './limits.js';\n",
      'shared/limits.ts': "export * from '@nestjs/throttler';\n",
    });
    await migrate(folder);
    expect(await sourcesOf(folder)).toEqual(await sourcesOf(plain));
    expect(await folder.typeErrors()).toBe('');
    expect(await readFile(join(folder.path, 'package.json'), 'utf8')).not.toContain('@nestjs/throttler');
  });

  it('makes an application of a shared guard, a class with options and a barrel that answers as before', async () => {
    await using folder = await AppFolder.make(false);
    await write(folder, SHAPED);
    // Nobody waits: the block has to hold, for each client and route.
    const lines: Line[] = Array.from({ length: 120 }, (_, i) => ({
      advance: 300,
      method: 'GET',
      path: ['/list', '/strict', '/live'][i % 3]!,
      headers: { 'x-client': ['ada', 'bob'][i % 2]! },
    }));
    const statuses = async (): Promise<number[]> => {
      await using app = await ServedApp.start(folder, 'Express');
      return (await app.hold(lines)).map(({ status }) => status);
    };
    const before = await statuses();
    expect(new Set(before)).toEqual(new Set([200, 429]));
    const printed = await migrate(folder);
    expect(printed).toContain('rewrote src/shared/shared.guard.ts');
    expect(await folder.typeErrors()).toBe('');
    expect(await statuses()).toEqual(before);
  });
});
