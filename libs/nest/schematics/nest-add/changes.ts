import { isUtf8 } from 'node:buffer';
import { accessSync, constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Formatter } from './formatter.js';
import { type Context, type Folder, Refusal, type Rule, textOf, type Tree } from './schematic.js';

/** What a rule changes, held back until all of it can be written. */
class Changes implements Tree {
  private readonly texts = new Map<string, string>();

  constructor(private readonly tree: Tree) {}

  exists(path: string): boolean {
    return this.tree.exists(path);
  }

  read(path: string): Buffer | null {
    const text = this.texts.get(path);
    return text === undefined ? this.tree.read(path) : Buffer.from(text);
  }

  getDir(path: string): Folder {
    return this.tree.getDir(path);
  }

  overwrite(path: string, content: string): void {
    this.texts.set(path, content);
  }

  /** @throws {Refusal} when one of the files cannot be written as it is */
  check(folder: string): void {
    for (const path of this.texts.keys()) {
      const name = path.slice(1);
      if (!isUtf8(this.tree.read(path)!)) {
        throw new Refusal(`${name} is not UTF-8. Save it as UTF-8, then run again.`);
      }
      if (!isWritable(join(folder, name))) {
        throw new Refusal(`${name} cannot be written. Allow that, then run again.`);
      }
    }
  }

  /** Writes the files. They keep their byte order mark, and their format where the project's formatter made it. */
  write(format: Formatter | undefined): void {
    for (const [path, text] of this.texts) {
      const before = textOf(this.tree, path)!;
      const name = path.slice(1);
      const isFormatted = format !== undefined && format(name, before) === before;
      const after = isFormatted ? (format(name, text) ?? text) : text;
      const mark = this.tree.read(path)!.toString().startsWith('\uFEFF') ? '\uFEFF' : '';
      this.tree.overwrite(path, mark + after);
    }
  }
}

function isWritable(file: string): boolean {
  if (!existsSync(file)) return true;
  try {
    accessSync(file, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

export interface Manner {
  /** The application's. */
  readonly folder: string;
  readonly formatter: (tree: Tree) => Formatter | undefined;
  /** Whether the rule only says what it would change. */
  readonly isDry: boolean;
}

/** The rule as one step: it says and changes nothing before all that it changes can be written. */
export function atOnce(rule: Rule, { folder, formatter, isDry }: Manner): Rule {
  return (tree, context) => {
    const changes = new Changes(tree);
    const later: (() => void)[] = [];
    const held: Context = {
      logger: {
        info: (message) => later.push(() => context.logger.info(message)),
        warn: (message) => later.push(() => context.logger.warn(message)),
      },
      addTask: (task) => isDry || later.push(() => context.addTask(task)),
    };
    rule(changes, held);
    changes.check(folder);
    for (const one of later) one();
    if (isDry) context.logger.info('Dry run: no file was written.');
    else changes.write(formatter(tree));
  };
}
