import { type ClassDeclaration, Node, type Project } from 'ts-morph';

/**
 * The classes that extend ThrottlerGuard, and those that extend them, such as a guard of an application that extends one of a shared
 * library. A class stands behind the one that it extends.
 *
 * @param direct those that extend ThrottlerGuard itself
 */
export function guardClassesOf(project: Project, direct: readonly ClassDeclaration[]): ReadonlySet<ClassDeclaration> {
  const found = new Set(direct);
  if (found.size === 0) return found;
  const classes = project.getSourceFiles().flatMap((file) => file.getDescendants().filter(Node.isClassDeclaration));
  const derived = classes.flatMap((owner) => {
    const base = baseOf(owner);
    return base === undefined ? [] : [{ owner, base }];
  });
  for (let size = 0; size !== found.size;) {
    size = found.size;
    for (const { owner, base } of derived) if (found.has(base)) found.add(owner);
  }
  return found;
}

/** The class of the application that a class extends. */
export function baseOf(owner: ClassDeclaration): ClassDeclaration | undefined {
  const symbol = owner.getExtends()?.getExpression().getSymbol();
  const declarations = (symbol?.getAliasedSymbol() ?? symbol)?.getDeclarations() ?? [];
  return declarations.find(Node.isClassDeclaration);
}
