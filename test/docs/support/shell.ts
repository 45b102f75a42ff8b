import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { textOf } from './pages.js';

const PATIENCE_MS = 20_000;

/** The scripts of the package.json files that a reader of the repository calls. */
const SCRIPTS = Object.keys((JSON.parse(textOf('package.json')) as { scripts: object }).scripts);

/** What commands may begin with. `npx` runs the library's own programs. */
const PROGRAMS = new Set(
  `cd curl cp cat docker echo git kubectl mkdir nest node npm npx pnpm yarn redis-cli redis-server sh sleep sort uniq for do done
   export sed grep seq head wait kill tail printf base64`.split(/\s+/),
);

/** A folder in which the commands of a page leave their files. */
export class Shell {
  private readonly folder = mkdtempSync(join(tmpdir(), 'docs-'));

  /**
   * Runs commands and returns what they print.
   *
   * @param port what takes the place of the port 3000; with it the ports 3000 to 3009, which a page may write as 300[0-2]
   */
  async run(commands: string, port: number): Promise<string> {
    if (port % 10 !== 0 && /300[1-9[]/.test(commands)) throw new Error('several ports need one that ends in 0');
    const real = commands.replaceAll(/\b(localhost|127\.0\.0\.1):3000\b/g, `$1:${port}`);
    const { stdout } = await promisify(execFile)(
      'bash',
      ['-c', real.replaceAll('localhost:300', `localhost:${port / 10}`)],
      // Not inherited: Jest's process.env is a copy.
      { cwd: this.folder, timeout: PATIENCE_MS, env: process.env },
    );
    return stdout;
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The commands whose program or npm script does not exist. */
export function unknownCommands(block: string): string[] {
  return block
    .replaceAll(/\\\n\s*/g, ' ')
    .replaceAll(/(?<=-d )'[^']*'/g, "'...'") // a body may take several lines
    .split('\n')
    .map((line) => line.replace(/(^|\s)#.*$/, '').trim())
    .filter((line) => line !== '')
    .flatMap((line) => line.split(/\s*(?:&&|\|\||\||;|&)\s*/))
    .filter((command) => command !== '' && !/^\w+=\$\(\(.*\)\)$/.test(command))
    .filter((command) => !isKnown(command.replace(/^(?:\w+=\S*\s+)+/, '')));
}

function isKnown(command: string): boolean {
  const [program = '', verb, script] = command.split(/\s+/);
  if (/^\w+=/.test(command) || program === '') return true; // only variables
  if (!PROGRAMS.has(program)) return false;
  if (program !== 'npm') return true;
  if (verb === 'run') return SCRIPTS.includes(script!);
  if (verb === 'start' || verb === 'test') return SCRIPTS.includes(verb);
  return ['ci', 'install', 'login', 'pack', 'stage', 'trust', 'update', 'view'].includes(verb!);
}
