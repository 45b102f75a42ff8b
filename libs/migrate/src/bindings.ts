import { type Identifier, Node, type SourceFile, SyntaxKind } from 'ts-morph';

/** The packages whose names are rewritten. The second one is where a switch by import leaves an application. */
export const THROTTLER = ['@nestjs/throttler', 'nestjs-floodgate/throttler'];

/** A statement that brings names of a package into a file. */
export interface Source {
  /** The import declaration, or the statement with `require`. */
  readonly statement: Node;
  readonly isRequire: boolean;
  /** Exported names by local names. */
  readonly names: ReadonlyMap<string, string>;
}

/** What a file has from the packages; statements that bring in a whole namespace are in `opaque`. */
export function sourcesOf(file: SourceFile, packages: readonly string[]): { sources: Source[]; opaque: Node[] } {
  const sources: Source[] = [];
  const opaque: Node[] = [];
  for (const statement of file.getImportDeclarations()) {
    if (!packages.includes(statement.getModuleSpecifierValue())) continue;
    const named = statement.getNamedImports();
    if (named.length === 0) opaque.push(statement);
    const names = named.map((one) => [one.getAliasNode()?.getText() ?? one.getName(), one.getName()] as const);
    if (named.length > 0) sources.push({ statement, isRequire: false, names: new Map(names) });
  }
  for (const call of file.getDescendantsOfKind(SyntaxKind.CallExpression)) {
    const [argument] = call.getArguments();
    if (call.getExpression().getText() !== 'require' || !Node.isStringLiteral(argument)) continue;
    if (!packages.includes(argument.getLiteralValue())) continue;
    const declaration = call.getParent();
    const pattern = Node.isVariableDeclaration(declaration) ? declaration.getNameNode() : undefined;
    const statement = call.getFirstAncestorByKind(SyntaxKind.VariableStatement);
    if (!Node.isObjectBindingPattern(pattern) || statement === undefined) {
      opaque.push(call);
      continue;
    }
    const names = pattern
      .getElements()
      .map((one) => [one.getName(), one.getPropertyNameNode()?.getText() ?? one.getName()] as const);
    sources.push({ statement, isRequire: true, names: new Map(names) });
  }
  return { sources, opaque };
}

/** The identifiers that refer to a local name, outside of the statement that brings it in. */
export function usesOf(file: SourceFile, local: string, statement: Node): Identifier[] {
  return file.getDescendantsOfKind(SyntaxKind.Identifier).filter((identifier) => {
    if (identifier.getText() !== local) return false;
    if (statement.getPos() <= identifier.getPos() && identifier.getEnd() <= statement.getEnd()) return false;
    const parent = identifier.getParent();
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
