import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** A package that npm publishes. */
export interface Published {
  readonly name: string;
  readonly version: string;
  /** Below the repository. */
  readonly folder: string;
  readonly dependencies: Readonly<Record<string, string>>;
}

interface Manifest extends Partial<Published> {
  readonly private?: boolean;
}

/** The packages of this repository that npm publishes, each behind those that it needs: the workspaces that are not private. */
export const PUBLISHED: readonly Published[] = manifestOf('.').workspaces.flatMap((folder) => {
  const { private: isPrivate = false, name, version, dependencies = {} } = manifestOf(folder);
  return isPrivate ? [] : [{ name: name!, version: version!, folder, dependencies }];
});

function manifestOf(folder: string): Manifest & { readonly workspaces: readonly string[] } {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8')) as never;
}
