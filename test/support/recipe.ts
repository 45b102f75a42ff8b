import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readPage } from '../docs/support/markdown.js';
import { ROOT } from '../docs/support/pages.js';

/** Beside the sources, so that a recipe finds the packages. Git and the linters leave it out. */
const FOLDER = `${ROOT}.recipes`;

/** A file of a page of the documentation, as its readers copy it: tests run it without a line of their own. */
export class Recipe implements Disposable {
  private readonly folder: string;
  /** The path of the file. */
  readonly path: string;

  private constructor(code: string, name: string) {
    mkdirSync(FOLDER, { recursive: true });
    this.folder = mkdtempSync(join(FOLDER, 'recipe-'));
    this.path = join(this.folder, name);
    writeFileSync(this.path, code);
  }

  /**
   * Writes a copy of the snippet that begins with the comment `// <name>`.
   *
   * @param changes replace code of it, as a reader who follows the page would
   */
  static of(page: string, name: string, changes: readonly (readonly [from: string, to: string])[] = []): Recipe {
    const fences = readPage(page).fences.filter(({ value }) => value.startsWith(`// ${name}\n`));
    if (fences.length !== 1) throw new Error(`${page} has ${fences.length} snippets ${name}`);
    let code = fences[0]!.value;
    for (const [from, to] of changes) {
      if (!code.includes(from)) throw new Error(`${name} of ${page} has no ${from}`);
      code = code.replace(from, () => to);
    }
    return new Recipe(code, name);
  }

  /** Imports a fresh copy of the file: it reads `REDIS_URL` while it is evaluated, or when its application boots. */
  async import<T>(redisUrl: string): Promise<T> {
    process.env.REDIS_URL = redisUrl;
    const copy = join(mkdtempSync(join(this.folder, 'copy-')), basename(this.path));
    copyFileSync(this.path, copy);
    return (await import(copy)) as T;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}
