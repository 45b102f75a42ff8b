/** What a schematic gets of `@angular-devkit/schematics`. The package does not depend on it: the command line of Nest brings it. */
export interface Tree {
  exists(path: string): boolean;
  read(path: string): Buffer | null;
  overwrite(path: string, content: string): void;
  getDir(path: string): Folder;
}

/** A folder of a `Tree`. */
export interface Folder {
  readonly subdirs: readonly string[];
  readonly subfiles: readonly string[];
}

export interface Context {
  readonly logger: { info(message: string): void; warn(message: string): void };
  addTask(task: { toConfiguration(): object }): unknown;
}

export type Rule = (tree: Tree, context: Context) => void;

/** Says why nothing was changed, and what to do. */
export class Refusal extends Error {
  constructor(why: string) {
    super(`Nothing was changed: ${why}`);
  }
}

/** The text of a file, without a byte order mark; undefined when there is none. The compiler reads UTF-16 by its mark, too. */
export function textOf(tree: Pick<Tree, 'read'>, path: string): string | undefined {
  const bytes = tree.read(path);
  if (bytes === null) return undefined;
  const mark = bytes.toString('hex', 0, 2);
  return new TextDecoder(mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8').decode(bytes);
}

const LEFT_OUT = new Set(['node_modules', 'dist', 'build', 'coverage']);
/** A project with more files is not searched further, so that the command ends in time. */
const MOST_FILES = 5000;

/**
 * The paths of the files below a folder whose names fit.
 *
 * @param depth how many folders deep the search goes
 */
export function filesBelow(tree: Tree, root: string, fits: (name: string) => boolean, depth = 20): string[] {
  const found: string[] = [];
  const look = (folder: string, left: number): void => {
    const { subdirs, subfiles } = tree.getDir(folder === '' ? '/' : folder);
    found.push(...subfiles.filter(fits).map((name) => `${folder}/${name}`));
    if (left === 0 || found.length > MOST_FILES) return;
    for (const name of subdirs) {
      if (!LEFT_OUT.has(name) && !name.startsWith('.')) look(`${folder}/${name}`, left - 1);
    }
  };
  look(root === '/' ? '' : root, depth);
  return found;
}
