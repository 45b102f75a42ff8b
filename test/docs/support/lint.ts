import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { Fence } from './markdown.js';
import { FOLDER, moduleOf, pathOf } from './modules.js';
import type { Frame } from './kinds.js';
import { ROOT } from './pages.js';

/**
 * What `nest new` lints: oxlint's `correctness` with Nest 12, and typescript-eslint's `recommendedTypeChecked` with Nest 11. These
 * are the rules of the latter that `correctness` does not have. Both leave `no-explicit-any` out.
 */
const TYPESCRIPT = [
  'ban-ts-comment',
  'no-empty-object-type',
  'no-misused-promises',
  'no-namespace',
  'no-require-imports',
  'no-unnecessary-type-assertion',
  'no-unnecessary-type-constraint',
  'no-unsafe-argument',
  'no-unsafe-assignment',
  'no-unsafe-call',
  'no-unsafe-enum-comparison',
  'no-unsafe-function-type',
  'no-unsafe-member-access',
  'no-unsafe-return',
  'only-throw-error',
  'prefer-promise-reject-errors',
  'require-await',
  'restrict-plus-operands',
];

const CONFIG = {
  plugins: ['typescript', 'unicorn', 'oxc'],
  categories: { correctness: 'error' },
  rules: {
    ...Object.fromEntries(TYPESCRIPT.map((rule) => [`typescript/${rule}`, 'error'])),
    'typescript/no-explicit-any': 'off',
  },
  env: { node: true },
};

/** Those of a new project of Nest 11, which is less strict than this repository: a `!` that is needed here has no effect there. */
const COMPILER_OPTIONS = {
  strict: false,
  strictNullChecks: true,
  noUncheckedIndexedAccess: false,
  rootDir: '..',
  noEmit: true,
};

const CONFIG_FILE = `${ROOT}${FOLDER}/oxlintrc.json`;

interface Diagnostic {
  readonly message: string;
  readonly code: string;
  readonly filename: string;
  readonly labels: readonly { readonly span: { readonly line: number } }[];
}

/** Writes what the linter reads beside the snippets. */
export function prepareLint(): void {
  const project = { extends: '../tsconfig.json', compilerOptions: COMPILER_OPTIONS, include: ['**/*.ts'] };
  writeFileSync(`${ROOT}${FOLDER}/tsconfig.json`, JSON.stringify(project));
  writeFileSync(CONFIG_FILE, JSON.stringify(CONFIG));
}

/**
 * Lints the modules of snippets, all in one process.
 *
 * @returns a line for each problem that a reader would get with the code of a page: what is hidden, or of a frame, does not count
 */
export async function lintSnippets(snippets: readonly { fence: Fence; frame: Frame }[]): Promise<string[]> {
  // File by file: git ignores the folder, and oxlint therefore finds none in it.
  const files = snippets.map(({ fence }) => pathOf(fence).slice(ROOT.length));
  const args = ['--type-aware', '--no-ignore', '-c', CONFIG_FILE, '-f', 'json', ...files];
  const { diagnostics } = JSON.parse(await oxlint(args)) as { diagnostics: Diagnostic[] };
  // Nobody reads a hidden program.
  const read = snippets.filter(({ fence }) => fence.lang !== 'hidden');
  return read.flatMap(({ fence, frame }) => {
    const code = moduleOf(fence, frame);
    const first = code.slice(0, code.indexOf(fence.value)).split('\n').length;
    const last = first + fence.value.split('\n').length - 1;
    return diagnostics
      .filter(({ filename }) => pathOf(fence) === `${ROOT}${filename}`)
      .flatMap(({ code: rule, message, labels }) => {
        const line = labels[0]!.span.line;
        return line < first || line > last
          ? []
          : [`${fence.page}:${fence.line + 1 + line - first}: ${rule}: ${message}`];
      });
  });
}

function oxlint(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const command = ['node_modules/oxlint/bin/oxlint', ...args];
    execFile(process.execPath, command, { cwd: ROOT, maxBuffer: 1 << 28 }, (_, stdout, stderr) => {
      // The status says whether there are problems.
      if (stdout.startsWith('{')) resolve(stdout);
      else reject(new Error(stdout + stderr));
    });
  });
}
