import { spawn } from 'node:child_process';
import { describe, expect, it, test } from '@jest/globals';
import { rateLimitStoreConformance } from 'nestjs-floodgate/testing';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { limitTests } from './runners/limits.js';

// Runs the tests under each framework: under this one here, and under each other one in a process.
limitTests({ describe, test });

/** The tests of `limits.ts`: two of an application, and the suite of stores. */
const TESTS = 2 + rateLimitStoreConformance({ name: 'any', open: (settings) => new MemoryStore(settings) }).length;

const FRAMEWORKS = {
  Vitest: {
    args: ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/testing-kit/runners/vitest.config.js'],
    passed: (output: string) =>
      (JSON.parse(output.slice(output.indexOf('{'))) as { numPassedTests: number }).numPassedTests,
  },
  'node:test': {
    args: [
      '--import',
      './test/support/typescript-loader.js',
      '--test-reporter=tap',
      'test/testing-kit/runners/limits.node-test.ts',
    ],
    passed: (output: string) => Number(/^# pass (\d+)$/m.exec(output)?.[1]),
  },
};

interface Run {
  readonly code: number | null;
  readonly output: string;
}

function run(args: readonly string[], environment: Readonly<Record<string, string>>): Promise<Run> {
  // Jest's own options would reach the process.
  const { NODE_OPTIONS: _, NODE_ENV: __, ...env } = process.env;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { env: { ...env, ...environment } });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}

describe.each(Object.entries(FRAMEWORKS))('under %s', (_, { args, passed }) => {
  it('the tests of the kit pass, and one with a wrong limit fails with its message', async () => {
    const { code, output } = await run(args, { WRONG_LIMIT: '1' });
    expect({ code, passed: passed(output) }).toEqual({ code: 1, passed: TESTS - 1 });
    expect(output).toContain('21 requests admitted, then request 22 rejected with 429');
    expect(output).toContain('request 21 was rejected');
  });
});
