import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { FOLDER } from './modules.js';
import { ROOT } from './pages.js';

/** What Jest reports of each file. */
export type SpecResults = readonly {
  readonly name: string;
  readonly message: string;
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}[];

const PATIENCE_MS = 100_000;

/** The pages' files of tests use the globals, as those of `nest new` do. */
export const GLOBALS = `
import type * as jest from '@jest/globals';

declare global {
  const describe: typeof jest.describe;
  const test: typeof jest.test;
  const it: typeof jest.it;
  const expect: typeof jest.expect;
  const beforeAll: typeof jest.beforeAll;
  const beforeEach: typeof jest.beforeEach;
  const afterAll: typeof jest.afterAll;
  const afterEach: typeof jest.afterEach;
}
`;

/** Far above what the tests take: several processes of the type check and the other pages run beside them. */
const TEST_MS = 30_000;

const CONFIG = `
import { base } from '../jest.config.js';
export default {
  ...base,
  testTimeout: ${TEST_MS},
  roots: ['<rootDir>/${FOLDER}'],
  testMatch: ['<rootDir>/${FOLDER}/**/*.spec.ts'],
};
`;

/** Runs the pages' files of tests as their readers would: with Jest, in a process of its own. */
export function runSpecs(): Promise<SpecResults> {
  const output = `${ROOT}${FOLDER}/results.json`;
  const config = `${ROOT}${FOLDER}/jest.config.js`;
  writeFileSync(config, CONFIG);
  const args = ['--silent', 'jest', '--', '--config', config, '--json', '--outputFile', output, '-w', '1'];
  return new Promise((resolve, reject) => {
    execFile('npm', ['run', ...args], { cwd: ROOT, timeout: PATIENCE_MS }, (_, __, stderr) => {
      // Jest's own status says whether all passed, which each block asks for itself.
      try {
        resolve((JSON.parse(readFileSync(output, 'utf8')) as { testResults: SpecResults }).testResults);
      } catch {
        reject(new Error(stderr));
      }
    });
  });
}
