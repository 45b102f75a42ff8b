import { type Identifier, type ImportDeclaration, Node, type SourceFile, SyntaxKind } from 'ts-morph';
import type { Barrels } from './barrels.js';
import { THROTTLER } from './packages.js';

/** A statement that brings names of a package into a file. */
export interface Source {
  /** The import declaration, or the statement with `require`. */
  readonly statement: Node;
  readonly isRequire: boolean;
  /** Exported names by local names. */
  readonly names: ReadonlyMap<string, string>;
  /** How the statement spells each, by local names. */
  readonly spelled: ReadonlyMap<string, string>;
  /** How it spells what is none of these names. It stays. */
  readonly others: readonly string[];
  /** Whether the names come from another file of the application, which passes them on. */
  readonly isPassedOn: boolean;
}

/** What a file has from the packages; statements that bring in a whole namespace are in `opaque`. */
export function sourcesOf(file: SourceFile, barrels: Barrels): { sources: Source[]; opaque: Node[] } {
  const sources: Source[] = [];
  const opaque: Node[] = [];
  for (const statement of file.getImportDeclarations()) {
    const isOfPackage = THROTTLER.includes(statement.getModuleSpecifierValue());
    const named = statement.getNamedImports();
    if (isOfPackage && named.length === 0) opaque.push(statement);
    const source = importOf(statement, isOfPackage ? (name) => name : (name) => passedOn(statement, name, barrels));
    if (source.names.size > 0) sources.push({ ...source, isPassedOn: !isOfPackage });
  }
  for (const call of file.getDescendantsOfKind(SyntaxKind.CallExpression)) {
    const [argument] = call.getArguments();
    if (call.getExpression().getText() !== 'require' || !Node.isStringLiteral(argument)) continue;
    if (!THROTTLER.includes(argument.getLiteralValue())) continue;
    const declaration = call.getParent();
    const pattern = Node.isVariableDeclaration(declaration) ? declaration.getNameNode() : undefined;
    const statement = call.getFirstAncestorByKind(SyntaxKind.VariableStatement);
    if (!Node.isObjectBindingPattern(pattern) || statement === undefined) {
      opaque.push(call);
      continue;
    }
    const elements = pattern.getElements();
    sources.push({
      statement,
      isRequire: true,
      names: new Map(elements.map((one) => [one.getName(), one.getPropertyNameNode()?.getText() ?? one.getName()])),
      spelled: new Map(elements.map((one) => [one.getName(), one.getText()])),
      others: [],
      isPassedOn: false,
    });
  }
  return { sources, opaque };
}

function importOf(
  statement: ImportDeclaration,
  nameOf: (imported: string) => string | undefined,
): Omit<Source, 'isPassedOn'> {
  const names = new Map<string, string>();
  const spelled = new Map<string, string>();
  const others: string[] = [];
  for (const one of statement.getNamedImports()) {
    const local = one.getAliasNode()?.getText() ?? one.getName();
    const name = nameOf(one.getName());
    if (name === undefined) others.push(one.getText());
    else {
      names.set(local, name);
      spelled.set(local, one.getText());
    }
  }
  return { statement, isRequire: false, names, spelled, others };
}

/** The name in the packages of what another file of the application passes on. */
function passedOn(statement: ImportDeclaration, name: string, barrels: Barrels): string | undefined {
  return barrels.reexports.length === 0 ? undefined : barrels.nameOf(statement.getModuleSpecifierSourceFile(), name);
}

/** The identifiers that refer to a local name, outside of the statement that brings it in. */
export function usesOf(file: SourceFile, local: string, statement: Node): Identifier[] {
  return file.getDescendantsOfKind(SyntaxKind.Identifier).filter((identifier) => {
    if (identifier.getText() !== local) return false;
    if (statement.getPos() <= identifier.getPos() && identifier.getEnd() <= statement.getEnd()) return false;
    const parent = identifier.getParent();
    // What a file passes on is removed where nothing else needs it.
    if (Node.isExportSpecifier(parent)) return false;
    // The name of a property is no reference.
    if (Node.isPropertyAccessExpression(parent)) return parent.getExpression() === identifier;
    if (Node.isPropertyAssignment(parent)) return parent.getNameNode() !== identifier;
    if (Node.isMethodDeclaration(parent) || Node.isPropertyDeclaration(parent))
      return parent.getNameNode() !== identifier;
    return true;
  });
}

/** The statement that brings names into a file, as the file writes such statements. */
export function bringIn(names: readonly string[], from: string, like: Source): string {
  const quote = like.statement.getText().includes('"') ? '"' : "'";
  const list = [...new Set(names)].toSorted((one, other) => bare(one).localeCompare(bare(other))).join(', ');
  const end = like.statement.getText().trimEnd().endsWith(';') ? ';' : '';
  return like.isRequire
    ? `const { ${list} } = require(${quote}${from}${quote})${end}`
    : `import { ${list} } from ${quote}${from}${quote}${end}`;
}

function bare(name: string): string {
  return name.replace(/^type /, '');
}
