import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import ts from 'typescript';

jest.setTimeout(300_000); // the compiler reads the whole library

const REPOSITORY = fileURLToPath(new URL('../../../../', import.meta.url));
const ENGINE = 'libs/floodgate/src';
const NEST = 'libs/nest/src';

/** A line that goes, or what becomes of it. */
type Edit = string | readonly [line: string, becomes: string];

interface Room {
  /** Within the repository, as the files of `edits`. */
  readonly folder: string;
  /** All that the rest knows of it: the lines of each file that go or change. */
  readonly edits: Readonly<Record<string, readonly Edit[]>>;
}

const OPTIONS = 'export type RoomOptions = DenialOptions & ThresholdOptions;';
const ALL = 'export const ROOMS: readonly Room[] = [denials, prefetch, thresholds, expiry];';

const REMOVED: readonly Room[] = [
  {
    folder: `${ENGINE}/layers/prefetch`,
    edits: {
      [`${ENGINE}/limiter/rooms.ts`]: [
        "import { prefetch } from '../layers/prefetch/room.js';",
        [ALL, ALL.replace('prefetch, ', '')],
      ],
    },
  },
  {
    folder: `${ENGINE}/layers/denials`,
    edits: {
      [`${ENGINE}/limiter/rooms.ts`]: [
        "import { denials, type DenialOptions } from '../layers/denials/room.js';",
        [OPTIONS, OPTIONS.replace('DenialOptions & ', '')],
        '  ...denials.options,',
        [ALL, ALL.replace('denials, ', '')],
      ],
    },
  },
  {
    folder: `${ENGINE}/holds/expiry`,
    edits: {
      [`${ENGINE}/limiter/rooms.ts`]: [
        "import { expiry } from '../holds/expiry/room.js';",
        [ALL, ALL.replace(', expiry', '')],
      ],
    },
  },
  {
    folder: `${ENGINE}/watch/thresholds`,
    edits: {
      [`${ENGINE}/limiter/rooms.ts`]: [
        "import { thresholds, type ThresholdOptions } from '../watch/thresholds/room.js';",
        [OPTIONS, OPTIONS.replace(' & ThresholdOptions', '')],
        '  ...thresholds.options,',
        [ALL, ALL.replace('thresholds, ', '')],
      ],
      [`${ENGINE}/index.ts`]: ["export type { ThresholdEvent } from './watch/thresholds/threshold-event.js';"],
      [`${NEST}/index.ts`]: ['  type ThresholdEvent,'],
    },
  },
  {
    folder: `${NEST}/admin`,
    edits: {
      [`${NEST}/index.ts`]: [
        "export { RateLimitAdminModule, type RateLimitAdminOptions } from './admin/rate-limit-admin.module.js';",
      ],
    },
  },
];

/** The tests of the rest: those of the rooms beside it, and applications that decide without it. */
const TESTS = [
  ...['engine', 'holds', 'layers', 'policy', 'watch'].map((folder) => `${ENGINE}/${folder}/`),
  `${NEST}/handlers/`,
  ...['limiter/limiter-methods', 'limiter/without-http', 'decisions/one-decision', 'decisions/policy-functions'].map(
    (name) => `test/e2e/${name}.spec.ts`,
  ),
];

const RUN_TESTS = [
  '--experimental-vm-modules',
  '--disable-warning=ExperimentalWarning',
  '--import',
  './test/support/typescript-loader.js',
  'node_modules/jest/bin/jest.js',
  '--config',
  'rooms.config.js',
  '--runInBand',
];

const CONFIG = `
import { project } from './jest.config.js';
export default { testTimeout: 30_000, projects: [project('unit', ['libs', 'test/e2e'])] };
`;

let copy: string;
let program: ts.Program | undefined;

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'rooms-'));
  const isSource = (path: string): boolean => !['dist', 'node_modules'].includes(basename(path));
  for (const name of ['libs', 'demo', 'lab', 'test', 'tools', 'package.json', 'tsconfig.json', 'jest.config.js']) {
    cpSync(join(REPOSITORY, name), join(copy, name), { recursive: true, filter: isSource });
  }
  symlinkSync(join(REPOSITORY, 'node_modules'), join(copy, 'node_modules'));
  writeFileSync(join(copy, 'rooms.config.js'), CONFIG);
});
afterAll(() => {
  program = undefined;
  rmSync(copy, { recursive: true });
});

/** Removes a room from the copy. */
function remove({ folder, edits }: Room): void {
  rmSync(join(copy, folder), { recursive: true });
  for (const [file, lines] of Object.entries(edits)) {
    const path = join(copy, file);
    const text = readFileSync(path, 'utf8').split('\n');
    for (const edit of lines) {
      const [line, ...becomes] = typeof edit === 'string' ? [edit] : edit;
      expect(text).toContain(line);
      text.splice(text.indexOf(line), 1, ...becomes);
    }
    writeFileSync(path, text.join('\n'));
  }
}

/** Puts a room back. */
function restore({ folder, edits }: Room): void {
  for (const path of [folder, ...Object.keys(edits)]) {
    cpSync(join(REPOSITORY, path), join(copy, path), { recursive: true });
  }
}

/** The problems that the compiler finds in the copy, with the options that the package is built with. */
function problems(): string[] {
  const config = join(copy, 'libs/nest/tsconfig.lib.json');
  const read = ts.getParsedCommandLineOfConfigFile(
    config,
    { noEmit: true },
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic },
  );
  program = ts.createProgram(read!.fileNames, read!.options, undefined, program);
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, '\n');
    return `${file?.fileName.slice(copy.length) ?? config}: ${text}`;
  });
}

function onUnRecoverableConfigFileDiagnostic({ messageText }: ts.Diagnostic): never {
  throw new Error(ts.flattenDiagnosticMessageText(messageText, '\n'));
}

/** What the tests of the rest say, if one of them fails. */
function failures({ folder }: Room): Promise<string> {
  const options = { cwd: copy, env: { ...process.env, NO_COLOR: '1', NODE_OPTIONS: '' } };
  const paths = [...TESTS, '--testPathIgnorePatterns', `${folder}/`, '\\.long\\.'];
  return new Promise((resolve) => {
    execFile(process.execPath, [...RUN_TESTS, ...paths], options, (error, out, err) => {
      resolve(error === null ? '' : out + err);
    });
  });
}

describe.each(REMOVED.map((room) => ({ ...room, lines: Object.values(room.edits).flat().length })))(
  'without $folder, and $lines lines outside of it',
  (room) => {
    beforeAll(() => remove(room));
    afterAll(() => restore(room));

    it('the library compiles', () => {
      expect(problems()).toEqual([]);
    });

    it('the rest passes its tests', async () => {
      expect(await failures(room)).toBe('');
    });
  },
);
