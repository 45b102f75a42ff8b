import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from '@jest/globals';
import { sample } from 'fast-check';
import { codedPolicy, moduleOf } from '../../../demo/playground/model/code.js';
import type { Policy } from '../../../demo/playground/model/library.js';
import { PRESETS } from '../../../demo/playground/model/presets.js';
import { policiesOf, type Settings } from '../../../demo/playground/model/settings.js';
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

describe('the modules that the playground copies', () => {
  it('type-check: those of every preset, and of random settings', () => {
    const wrong = MODULES[0]!.replace('capacity: 10', "capacity: 'ten'");
    const [error = '', ...others] = errorsOf([...MODULES, wrong]);
    expect(error).toContain("Type 'string' is not assignable to type 'number'");
    expect(others).toEqual([]);
  }, 240_000);
});
