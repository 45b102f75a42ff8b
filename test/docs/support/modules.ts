import type { Frame } from './kinds.js';
import type { Fence } from './markdown.js';
import { ROOT } from './pages.js';

/** Where the modules of the snippets are written: git, the linters and the type check of the repository leave it out. */
export const FOLDER = '.snippets';

const PRELUDE = `
import { Body, Controller, Get, Injectable, Module, Post, Query, Req, Res, UnauthorizedException, UseGuards, type ExecutionContext } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import {
  apiKeyIdentity, ipIdentity, MemoryStore, RateLimit, RateLimiter, RateLimitExceededException, RateLimitGuard, RateLimitModule,
  RedisStore, SkipRateLimit, userIdentity, type RateLimitModuleOptions, type RateLimitRequest,
} from 'nestjs-floodgate';
import { expect } from '@jest/globals';
`;

/** Completes a fragment to a module. Each frame exports `AppModule`, which the test boots and asks at `PROBE[frame]`. */
const FRAME: Readonly<Record<Frame, (fence: Fence) => string>> = {
  '': ({ before, value, after }) => `${before}\n${value}\n${after}`,

  // A dynamic module.
  module: ({ before, value, after }) => `${PRELUDE}${before}
const imported = ${value}
@Controller() class Probe { @Get() probe(): string { return 'ok'; } }
@Module({ imports: [imported], controllers: [Probe] }) export class AppModule {}
${after}`,

  // Decorators, or members of a controller.
  route: ({ before, value, after }) => `${PRELUDE}${before}
${declared('options', before, 'RateLimitModuleOptions', '{}')}
@Controller('probe') class Probe {
  constructor(readonly limiter: RateLimiter) {}
  ${value}
  @Get() probe(): string { return 'ok'; }
}
@Module({ imports: [RateLimitModule.forRoot(options)], controllers: [Probe] }) export class AppModule {}
${after}`,

  // Statements with `limiter` in scope; what is behind them sees their variables.
  limiter: ({ before, value, after }) => `${PRELUDE}${before}
${declared('options', before, 'RateLimitModuleOptions', '{}')}
${declared('controllers', before, '(new () => object)[]', '[]')}
@Module({ imports: [RateLimitModule.forRoot(options)], controllers }) export class AppModule {}
export async function run(limiter: RateLimiter): Promise<void> {
${value}
${after}
}`,
};

/** Where the application of a frame answers 200. */
export const PROBE: Readonly<Partial<Record<Frame, string>>> = { module: '/', route: '/probe' };

/** The file that a snippet names in its first line, such as `// app.module.ts`: other snippets of the page import it by that name. */
const NAMED = /^\/\/ ((?:[\w-]+\/)*[\w.-]+\.ts)\n/;

/** Where a snippet's module is written: one folder for each page, and a name that tells the place. */
export function pathOf({ page, line, value }: Fence): string {
  const folder = page.replace(/\.md$/, '').replaceAll('/', '-');
  return `${ROOT}${FOLDER}/${folder}/${NAMED.exec(value)?.[1] ?? `line-${line}.ts`}`;
}

/** Whether the snippet is a file of tests, which only Jest can run. */
export function isSpec({ value }: Fence): boolean {
  return NAMED.exec(value)?.[1]?.endsWith('.spec.ts') === true;
}

export function moduleOf(fence: Fence, frame: Frame): string {
  return `${FRAME[frame](fence)}\nexport {};\n`;
}

/** A busy machine may take longer for an answer of Redis than the default deadline: what a page prints is what Redis decides. */
export function patient(text: string): string {
  return /\bdeadline:/.test(text)
    ? text
    : text.replaceAll(/\bredis: process\.env\.REDIS_URL(?=[,\s}])/g, "$&, deadline: '10s'");
}

function declared(name: string, before: string, type: string, otherwise: string): string {
  return new RegExp(`\\bconst ${name}\\b`).test(before) ? '' : `const ${name}: ${type} = ${otherwise};`;
}
