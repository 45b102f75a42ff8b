import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { ConsoleLogger, Logger } from '@nestjs/common';
import { jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import { RateLimiter } from 'nestjs-floodgate';
import { CapturedLogs, type HttpApp } from '../../support/http-app.js';
import { RIDES } from '../../../src/limits/policies.js';
import {
  expectAlive,
  expectBurst,
  expectKnown,
  expectLogged,
  expectPassed,
  expectQuoted,
  expectShown,
  isBurst,
} from './compare.js';
import { Demo } from './demo.js';
import { checkFile, type Frame, type Kind } from './kinds.js';
import type { Fence } from './markdown.js';
import { pathOf, PROBE } from './modules.js';
import { textOf } from './pages.js';
import { serve } from './serve.js';
import { Shell } from './shell.js';
import type { SpecResults } from './specs.js';

/** A burst that takes too long on a busy machine finds a refilled token: the page's commands are then run again. */
const ATTEMPTS = 4;
/** Longer than the denial cache keeps a rejection. */
const FORGOTTEN_MS = 1_100;

/** What a snippet's module may export. */
interface Snippet {
  readonly AppModule?: new () => object;
  readonly run?: (limiter: RateLimiter) => Promise<void>;
  /** One without Nest, and its limiter: both are closed with the page. */
  readonly server?: Server;
  readonly limiter?: RateLimiter;
}

type Check = (app: HttpApp | undefined, module: Snippet) => Promise<void>;

async function checkNamed(name: string): Promise<Check> {
  return ((await import(checkFile(name))) as { readonly check: Check }).check;
}

/** Does with a block what its kind says. */
export async function expectBlock(
  page: PageState,
  fence: Fence,
  kind: Kind,
  specResults: Promise<SpecResults>,
): Promise<void> {
  switch (kind.does) {
    case 'module':
      return page.runModule(fence, kind.frame, kind.check);
    case 'shell':
      expectKnown(fence);
      return page.runShell(fence, kind.against);
    case 'answer':
      return page.compare(fence);
    case 'log':
      return expectLogged(fence, page.log);
    case 'commands':
      return expectKnown(fence);
    case 'quote':
      return expectQuoted(fence, textOf(kind.file));
    case 'fail':
      throw new Error(kind.problem);
    case 'spec':
      return expectPassed(await specResults, pathOf(fence));
    case 'types': // checked with all others
    case 'nothing':
      return;
  }
}

/** What the blocks of a page leave to those behind them. */
export class PageState {
  /** @param redis is emptied before each module, and before commands are run again */
  constructor(private readonly redis: () => Redis) {}

  private readonly shell = new Shell();
  private readonly logs = new CapturedLogs();
  private app: HttpApp | undefined;
  /** Where the application above listens. */
  private port: number | undefined;
  private readonly closing: (() => unknown)[] = [];
  private demo: Demo | undefined;
  private printed: string | undefined;
  /** How long the last commands took. */
  private tookMs = 0;
  /** The commands since the application above, to run them again. */
  private commands: { readonly text: string; readonly port: number }[] = [];

  /** The log of the application, and of what ran without one. */
  get log(): string {
    return `${this.app?.logs.text ?? ''}\n${this.logs.text}`;
  }

  async close(): Promise<void> {
    this.shell.close();
    await this.app?.close();
    await this.demo?.close();
    for (const close of this.closing) await close();
    Logger.overrideLogger(new ConsoleLogger());
  }

  async runModule(fence: Fence, frame: Frame, check: string | undefined): Promise<void> {
    Logger.overrideLogger(this.logs);
    await this.redis().flushdb();
    const lines: string[] = [];
    const log = jest.spyOn(console, 'log').mockImplementation((...parts: unknown[]) => {
      lines.push(parts.map((part) => (typeof part === 'string' ? part : JSON.stringify(part))).join(' '));
    });
    try {
      const module = (await import(pathOf(fence))) as Snippet;
      if (module.AppModule !== undefined) {
        await this.app?.close();
        this.app = await serve(module.AppModule);
        this.port = this.app.port;
        const probe = PROBE[frame];
        if (probe !== undefined) await expectAlive(this.app, probe);
        await module.run?.(this.app.app.get(RateLimiter));
      }
      if (module.server !== undefined) await this.keep(module.server, module.limiter);
      if (check !== undefined) await (await checkNamed(check))(this.app, module);
    } finally {
      log.mockRestore();
    }
    this.printed = lines.join('\n');
    this.commands = [];
  }

  async runShell(fence: Fence, against: 'page' | 'demo'): Promise<void> {
    if (against === 'page' && this.port === undefined) throw new Error('there is no application above on the page');
    if (against === 'demo') this.demo ??= await Demo.start(process.env.REDIS_URL!);
    this.commands.push({ text: fence.value, port: against === 'demo' ? this.demo!.port : this.port! });
    await this.runLast();
  }

  async compare(fence: Fence): Promise<void> {
    if (this.printed === undefined) throw new Error('nothing above on the page prints this');
    if (this.demo !== undefined) {
      if (isBurst(fence)) return expectBurst(fence, this.printed, RIDES.refill, this.tookMs);
      return expectShown(fence, this.printed);
    }
    for (let attempt = 1; ; attempt++) {
      try {
        return expectShown(fence, this.printed);
      } catch (error) {
        if (attempt === ATTEMPTS || this.commands.length === 0) throw error;
      }
      await this.redis().flushdb();
      await delay(FORGOTTEN_MS);
      for (const command of this.commands) this.printed = await this.shell.run(command.text, command.port);
    }
  }

  private async keep(server: Server, limiter: RateLimiter | undefined): Promise<void> {
    this.closing.push(
      () => server.closeAllConnections(),
      () => server.close(),
      () => limiter?.close(),
    );
    if (!server.listening) await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
  }

  private async runLast(): Promise<void> {
    const { text, port } = this.commands.at(-1)!;
    const start = performance.now();
    this.printed = await this.shell.run(text, port);
    this.tookMs = performance.now() - start;
  }
}
