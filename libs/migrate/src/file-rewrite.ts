import { Node, type SourceFile } from 'ts-morph';
import { bringIn, type Source, usesOf } from './bindings.js';
import { Edits } from './edits.js';

const LIBRARY = 'nestjs-floodgate';

/** The changes of one file, and the names that it needs after them. */
export class FileRewrite {
  readonly edits: Edits;
  private readonly passed = new Set<string>();
  /** By package. */
  private readonly needed = new Map<string, Map<string, boolean>>();

  constructor(
    file: SourceFile,
    private readonly sources: readonly Source[],
  ) {
    this.edits = new Edits(file);
  }

  /** The text of a name that the file imports then. */
  use(name: string, from = LIBRARY, isType = false): string {
    const names = this.needed.get(from) ?? new Map<string, boolean>();
    names.set(name, isType && names.get(name) !== false);
    this.needed.set(from, names);
    return name;
  }

  /** Removes the import of a name that nothing needs any more. */
  forget(name: string): void {
    for (const statement of this.edits.file.getImportDeclarations()) {
      const named = statement.getNamedImports();
      const found = named.find((one) => one.getName() === name);
      if (found === undefined) continue;
      if (named.length > 1) this.edits.removeElement(found);
      else this.edits.remove(statement);
    }
  }

  /** Rewrites the imports of the packages: what is still used stays, and what the file needs joins it. */
  finish(): void {
    if (this.edits.isEmpty) return;
    const others = [...this.needed].flatMap(([from, names]) => (from === LIBRARY ? [] : this.join(from, names)));
    const known = new Set(
      this.edits.file
        .getImportDeclarations()
        .filter((one) => one.getModuleSpecifierValue() === LIBRARY)
        .flatMap((one) => one.getNamedImports().map((named) => named.getText())),
    );
    const own = [...(this.needed.get(LIBRARY) ?? [])].filter(([name]) => !known.has(name)).map(written);
    if (this.sources.length === 0 && own.length > 0) this.importFirst(own, LIBRARY);
    for (const [i, source] of this.sources.entries()) {
      const kept = [...source.names].filter(([local]) => this.isUsed(local, source.statement));
      const stays = kept.length + source.others.length > 0;
      const isUnchanged = kept.length === source.names.size;
      const statements = stays ? [isUnchanged ? source.statement.getText() : this.keep(source, kept)] : [];
      // As text of the same change: one that replaces the statement drops what is inserted where it begins.
      if (i === 0) statements.unshift(...others);
      if (i === 0 && own.length > 0) statements.push(bringIn(own, LIBRARY, source));
      if (statements.length > 0) this.edits.replace(source.statement, statements.join('\n'));
      else this.edits.remove(source.statement);
    }
  }

  /** Keeps the import of a name that the file passes on. */
  passOn(local: string): void {
    this.passed.add(local);
  }

  private isUsed(local: string, statement: Node): boolean {
    if (this.passed.has(local)) return true;
    return usesOf(this.edits.file, local, statement).some((one) => !this.edits.covers(one));
  }

  /** The throttler's names that the file still needs of other files of the application. */
  get stillPassedOn(): readonly string[] {
    return this.sources
      .filter(({ isPassedOn }) => isPassedOn)
      .flatMap(({ names, statement }) => [...names.keys()].filter((local) => this.isUsed(local, statement)));
  }

  private keep({ statement, spelled, others }: Source, kept: readonly (readonly [string, string])[]): string {
    const text = statement.getText();
    const [open, close] = [text.indexOf('{'), text.indexOf('}')];
    const list = [...others, ...kept.map(([local]) => spelled.get(local)!)];
    return `${text.slice(0, open)}{ ${list.join(', ')} ${text.slice(close)}`;
  }

  /** In a file that has nothing of the packages. */
  private importFirst(names: readonly string[], from: string): void {
    const last = this.edits.file.getImportDeclarations().at(-1);
    const quote = last?.getText().includes('"') === true ? '"' : "'";
    const text = `import { ${names.join(', ')} } from ${quote}${from}${quote};`;
    if (last === undefined) this.edits.insert(0, `${text}\n`);
    else this.edits.insert(last.getEnd(), `\n${text}`);
  }

  /** Adds names to an import of another package. Returns the statements that stand before the first source instead. */
  private join(from: string, names: ReadonlyMap<string, boolean>): string[] {
    const declarations = this.edits.file
      .getImportDeclarations()
      .filter((one) => one.getModuleSpecifierValue() === from && one.getNamedImports().length > 0);
    const has = (name: string, isType: boolean): boolean =>
      declarations.some(
        (one) => (isType || !one.isTypeOnly()) && one.getNamedImports().some((named) => named.getName() === name),
      );
    const missing = [...names].filter(([name, isType]) => !has(name, isType)).map(written);
    if (missing.length === 0) return [];
    const declaration = declarations.find((one) => !one.isTypeOnly());
    const [source] = this.sources;
    if (declaration !== undefined) {
      this.edits.insert(declaration.getNamedImports()[0]!.getStart(), `${missing.join(', ')}, `);
    } else if (source === undefined) this.importFirst(missing, from);
    else return [bringIn(missing, from, source)];
    return [];
  }
}

function written([name, isType]: readonly [string, boolean]): string {
  return isType ? `type ${name}` : name;
}
