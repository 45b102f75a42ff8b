import nestAdd, { type NestAddOptions } from '../nest-add/index.js';
import type { Folder, Tree } from '../nest-add/schematic.js';

/** Files by their paths, such as `src/main.ts`. */
export type Files = Readonly<Record<string, string>>;

/** Files, some in bytes of their own. */
type Given = Readonly<Record<string, string | Buffer>>;

/** The files of a project, as a schematic sees them. */
class MemoryTree implements Tree {
  constructor(private readonly given: Record<string, string | Buffer>) {}

  /** As texts. */
  get files(): Files {
    return Object.fromEntries(Object.entries(this.given).map(([path, content]) => [path, content.toString()]));
  }

  exists(path: string): boolean {
    return this.given[path.slice(1)] !== undefined;
  }

  read(path: string): Buffer | null {
    const content = this.given[path.slice(1)];
    return content === undefined ? null : Buffer.from(content);
  }

  overwrite(path: string, content: string): void {
    if (!this.exists(path)) throw new Error(`${path} does not exist`);
    this.given[path.slice(1)] = content;
  }

  getDir(path: string): Folder {
    const below = path === '/' ? '' : `${path.slice(1)}/`;
    const names = Object.keys(this.given).flatMap((one) => (one.startsWith(below) ? [one.slice(below.length)] : []));
    return {
      subdirs: [...new Set(names.flatMap((name) => (name.includes('/') ? [name.slice(0, name.indexOf('/'))] : [])))],
      subfiles: names.filter((name) => !name.includes('/')),
    };
  }
}

/** What a run of `nest add` has left. */
export interface Added {
  readonly files: Files;
  /** The files that it has changed. */
  readonly changed: readonly string[];
  readonly info: string;
  readonly warnings: string;
  /** The options of the installations that it asks for. */
  readonly installed: readonly object[];
  /** Its message, when it failed. */
  readonly refused: string | undefined;
}

/** Runs the schematic on files, with the compiler of the given folder. */
export function added(before: Given, options: NestAddOptions = {}, folder: string = process.cwd()): Added {
  const tree = new MemoryTree({ ...before });
  const [info, warnings, installed]: [string[], string[], object[]] = [[], [], []];
  let refused: string | undefined;
  try {
    nestAdd(options, folder)(tree, {
      logger: { info: (message) => info.push(message), warn: (message) => warnings.push(message) },
      addTask: (task) => installed.push((task.toConfiguration() as { options: object }).options),
    });
  } catch (error) {
    refused = (error as Error).message;
  }
  const { files } = tree;
  const changed = Object.keys(before).filter((path) => files[path] !== before[path]!.toString());
  return { files, changed, info: info.join('\n'), warnings: warnings.join('\n'), installed, refused };
}
