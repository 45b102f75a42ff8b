import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { filesBelow, textOf, type Tree } from './schematic.js';

/** What is read of another package's package.json. */
interface Installed {
  readonly bin?: string | Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** A folder and those around it, the nearest first, up to the repository's. */
export function* around(folder: string): Iterable<string> {
  for (let one = folder; ; one = dirname(one)) {
    yield one;
    if (dirname(one) === one || existsSync(join(one, '.git'))) return;
  }
}

/** An installed package, as Node finds it from a folder. */
export function installedIn(
  folder: string,
  name: string,
): { readonly folder: string; readonly manifest: Installed } | undefined {
  for (const one of around(folder)) {
    const found = join(one, 'node_modules', name);
    try {
      return { folder: found, manifest: JSON.parse(readFileSync(join(found, 'package.json'), 'utf8')) as Installed };
    } catch {
      // It is installed further up, perhaps.
    }
  }
  return undefined;
}

/** A project of a workspace, such as Nx has. */
export interface Project {
  /** The first one is its own, then that of its folder. */
  readonly names: readonly string[];
  /** Such as `/apps/api/src`. */
  readonly sourceRoot: string;
}

const DEPTH = 4;

/** The projects of a workspace, by their project.json and package.json. */
export function projectsOf(tree: Tree): Project[] {
  const found = new Map<string, Project>();
  for (const path of filesBelow(tree, '/', (name) => /^(?:project|package)\.json$/.test(name), DEPTH)) {
    const folder = dirname(path);
    if (folder === '/') continue;
    const { name, sourceRoot } = readProject(textOf(tree, path)!);
    const known = found.get(folder);
    const names = [name, ...(known?.names ?? [])].filter((one) => one !== undefined);
    found.set(folder, {
      names: [...new Set([...names, basename(folder)])],
      sourceRoot: sourceRoot === undefined ? (known?.sourceRoot ?? `${folder}/src`) : `/${sourceRoot}`,
    });
  }
  return [...found.values()];
}

function readProject(text: string): { readonly name?: string; readonly sourceRoot?: string } {
  try {
    return JSON.parse(text) as { name?: string; sourceRoot?: string };
  } catch {
    return {};
  }
}
