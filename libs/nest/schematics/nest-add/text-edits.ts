import type * as TypeScript from 'typescript';
import type { Compiler } from './typescript.js';

/** The most characters of several elements on one line. */
const LONG = 60;

/** Changes of one file's text. Everything that is not changed stays as it was written. */
export class TextEdits {
  private readonly inserted: { readonly at: number; readonly text: string }[] = [];

  constructor(
    private readonly ts: Compiler,
    readonly file: TypeScript.SourceFile,
  ) {}

  insert(at: number, text: string): void {
    this.inserted.push({ at, text });
  }

  /** Puts elements behind the last one of a list, on lines of their own where the list has a line for each. */
  append(list: TypeScript.NodeArray<TypeScript.Node>, open: number, elements: readonly string[]): void {
    const text = this.file.text;
    const last = list.at(-1);
    const inLine = elements.join(', ');
    if (last === undefined) {
      const isLong = inLine.includes('\n') || (elements.length > 1 && inLine.length > LONG);
      this.insert(open, isLong ? this.onLines(elements, this.indentAt(open)) : inLine);
      return;
    }
    const indent = this.indentAt(last.getStart(this.file));
    const ownLines = text.slice(open, list[0]!.getStart(this.file)).includes('\n');
    if (!ownLines) {
      this.insert(last.end, `, ${inLine.replaceAll('\n', `${this.lineEnd}${this.indentAt(open)}`)}`);
      return;
    }
    const written = elements.join(',\n').replaceAll('\n', `${this.lineEnd}${indent}`);
    // Behind a comment at the end of the line, which tells of the last element.
    const rest = /^,[ \t]*(?:\/\/[^\n\r]*)?(?=\r?\n)/.exec(text.slice(last.end))?.[0];
    if (rest === undefined) this.insert(last.end, `,${this.lineEnd}${indent}${written}`);
    else this.insert(last.end + rest.length, `${this.lineEnd}${indent}${written},`);
  }

  /**
   * Imports names from a package, with the statement that is there or one of its own.
   *
   * @param isType whether the file needs nothing but types of it
   */
  import(names: readonly string[], from: string, isType = false): void {
    const { ts, file } = this;
    const declarations = file.statements.filter((one) => ts.isImportDeclaration(one));
    for (const { importClause, moduleSpecifier } of declarations) {
      const bindings = importClause?.namedBindings;
      if (!ts.isStringLiteral(moduleSpecifier) || moduleSpecifier.text !== from || bindings === undefined) continue;
      if (!ts.isNamedImports(bindings) || (importClause!.isTypeOnly && !isType)) continue;
      const known = bindings.elements.map(({ name }) => name.text);
      const missing = names.filter((name) => !known.includes(name.replace(/^type /, '')));
      if (missing.length > 0) this.append(bindings.elements, bindings.getStart(file) + 1, [missing.join(', ')]);
      return;
    }
    const last = declarations.at(-1);
    const like = last?.getText(file) ?? '';
    const quote = like.includes('"') ? '"' : "'";
    const end = like === '' || like.endsWith(';') ? ';' : '';
    const statement = `import ${isType ? 'type ' : ''}{ ${names.join(', ')} } from ${quote}${from}${quote}${end}`;
    if (last === undefined) this.insert(file.getStart(file), `${statement}${this.lineEnd}`);
    else this.insert(last.end, `${this.lineEnd}${statement}`);
  }

  /** Elements that stand alone in a list, each on lines of its own. */
  private onLines(elements: readonly string[], indent: string): string {
    const lines = elements.map((element) => `\n${element},`).join('');
    return `${lines.replaceAll('\n', `${this.lineEnd}${indent}${this.unit}`)}${this.lineEnd}${indent}`;
  }

  /** The blanks at the beginning of a position's line. */
  indentAt(position: number): string {
    const text = this.file.text;
    return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', position - 1) + 1))![0];
  }

  /** One step of the file's indent. */
  get unit(): string {
    return /^\t/m.test(this.file.text) ? '\t' : '  ';
  }

  get lineEnd(): string {
    return this.file.text.includes('\r\n') ? '\r\n' : '\n';
  }

  /** The text with all changes. */
  result(): string {
    let text = this.file.text;
    for (const { at, text: more } of this.inserted.toSorted((one, other) => other.at - one.at)) {
      text = text.slice(0, at) + more + text.slice(at);
    }
    return text;
  }
}
