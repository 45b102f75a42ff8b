import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from '@jest/globals';
import * as nest from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { sample } from 'fast-check';
import * as floodgate from 'nestjs-floodgate';
import { codedPolicy, moduleOf } from '../../../libs/playground/model/code.js';
import type { Policy } from '../../../libs/playground/model/library.js';
import { PRESETS } from '../../../libs/playground/model/presets.js';
import { policiesOf, type Settings } from '../../../libs/playground/model/settings.js';
import { anySettings } from '../../support/playground.js';
import { SEED } from '../../support/property-runs.js';

const ROOT = join(import.meta.dirname, '../../..');
const FOLDER = join(ROOT, 'test/e2e');

const coded = (settings: Settings, hasLow: boolean): Policy[] =>
  policiesOf(settings).map((policy) => codedPolicy(policy, settings, hasLow));

const OF_PRESETS = PRESETS.flatMap(({ settings, events }) =>
  coded(
    settings,
    events.some(({ kind }) => kind === 'low'),
  ),
);
const OF_RANDOM_SETTINGS = sample(anySettings, { numRuns: 3, seed: SEED }).flatMap((settings, i) =>
  coded(settings, i % 2 === 0),
);
const POLICIES = [...OF_PRESETS, ...OF_RANDOM_SETTINGS];
const MODULES = POLICIES.map(moduleOf);

/** One of each algorithm, and of each shape of its options. */
const BOOTED = POLICIES.filter((policy, i) => POLICIES.findIndex((other) => shapeOf(other) === shapeOf(policy)) === i);

function shapeOf(policy: Policy): string {
  return [policy.algorithm, ...Object.keys(policy).toSorted()].join();
}

/** What the compiler of an application says of the files. */
function errorsOf(texts: readonly string[]): string[] {
  const files = new Map(texts.map((text, i) => [join(FOLDER, `copied-${i}.ts`), text]));
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (name) => ts.sys.readFile(name)) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const host = ts.createCompilerHost({ ...options, noEmit: true });
  const getSourceFile = host.getSourceFile.bind(host);
  const fileExists = host.fileExists.bind(host);
  host.fileExists = (name) => files.has(name) || fileExists(name);
  host.getSourceFile = (name, target, ...rest) => {
    const text = files.get(name);
    return text === undefined ? getSourceFile(name, target, ...rest) : ts.createSourceFile(name, text, target);
  };
  const program = ts.createProgram([...files.keys()], { ...options, noEmit: true }, host);
  return [...files.keys()].flatMap((name) =>
    ts
      .getPreEmitDiagnostics(program, program.getSourceFile(name))
      .map(({ messageText }) => `${ts.flattenDiagnosticMessageText(messageText, ' ')} in ${files.get(name)}`),
  );
}

/** The module of a file, run as CommonJS. */
function moduleIn(text: string): new () => object {
  const { outputText } = ts.transpileModule(text, {
    compilerOptions: {
      module: ts.ModuleKind.CommonJS,
      target: ts.ScriptTarget.ES2023,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
    },
  });
  const exports: { AppModule?: new () => object } = {};
  const require = (name: string): unknown => (name === '@nestjs/common' ? nest : floodgate);
  // The text comes from the playground's model, and not from outside.
  // oxlint-disable-next-line typescript/no-implied-eval, no-new-func
  new Function('exports', 'require', outputText)(exports, require);
  return exports.AppModule!;
}

describe('the modules that the playground copies', () => {
  it('type-check: those of every preset, and of random settings', () => {
    const wrong = MODULES[0]!.replace('capacity: 10', "capacity: 'ten'");
    const [error = '', ...others] = errorsOf([...MODULES, wrong]);
    expect(error).toContain("Type 'string' is not assignable to type 'number'");
    expect(others).toEqual([]);
  }, 240_000);

  it('boot an application that limits as they say', async () => {
    const limits: (string | null)[] = [];
    for (const text of MODULES.filter((_, i) => BOOTED.includes(POLICIES[i]!))) {
      const app = await NestFactory.create(moduleIn(text), { logger: ['error'] });
      try {
        await app.listen(0, '127.0.0.1');
        const response = await fetch(await app.getUrl());
        expect([text, response.status, await response.text()]).toEqual([text, 200, 'served']);
        limits.push(response.headers.get('x-ratelimit-limit'));
        // The route of low priority shares the limit; of a leaky bucket it would wait for its slot.
        if (!text.includes('POLICY') || text.includes('leaky-bucket')) continue;
        const low = await fetch(`${await app.getUrl()}/low`);
        expect([200, 429]).toContain(low.status);
        const half = Math.max(1, Math.floor(Number(limits.at(-1)) / 2));
        expect(low.headers.get('x-ratelimit-limit')).toBe(String(half));
      } finally {
        await app.close();
      }
    }
    const own = BOOTED.map((policy) => String('capacity' in policy ? policy.capacity : policy.limit));
    expect(limits).toEqual(own);
  }, 240_000);
});
