import type { ExportDeclaration, ExportSpecifier, Node, Project, SourceFile } from 'ts-morph';
import { THROTTLER } from './packages.js';

/** What @nestjs/throttler exports. `export *` passes all of it on. */
const EXPORTED =
  /^(?:Throttle|SkipThrottle|Throttler\w*|InjectThrottler\w+|getOptionsToken|getStorageToken|seconds|minutes|hours|days|weeks)$/;

/** A statement by which a file passes names of the packages on. */
export interface Reexport {
  readonly statement: ExportDeclaration;
  /** The elements that name something of the packages; undefined for `export *`. */
  readonly elements: readonly ExportSpecifier[] | undefined;
}

/** The files of an application that pass on what they have from the packages, such as the `index.ts` of a shared library. */
export class Barrels {
  readonly reexports: readonly Reexport[];
  /** Statements that pass a package on as one name. */
  readonly opaque: readonly Node[];

  constructor(project: Project) {
    const declarations = project.getSourceFiles().flatMap((file) => file.getExportDeclarations());
    this.opaque = declarations.filter((one) => one.getNamespaceExport() !== undefined && isOfPackage(one));
    // Without a first one there is no second one, and nothing has to be resolved.
    const roots = declarations.some((one) => isOfPackage(one) || one.getModuleSpecifier() === undefined);
    this.reexports = roots ? declarations.flatMap((one) => reexportOf(one)) : [];
  }

  /** The name in the packages of what a file exports under a name. */
  nameOf(file: SourceFile | undefined, exported: string): string | undefined {
    return this.reexports.length === 0 || file === undefined ? undefined : nameIn(file, exported, new Set());
  }
}

function reexportOf(statement: ExportDeclaration): Reexport[] {
  if (statement.getNamespaceExport() !== undefined) return [];
  const named = statement.getNamedExports();
  if (named.length === 0) return isOfPackage(statement) ? [{ statement, elements: undefined }] : [];
  const file = statement.getSourceFile();
  const elements = named.filter((one) => nameIn(file, exportedAs(one), new Set()) !== undefined);
  return elements.length > 0 ? [{ statement, elements }] : [];
}

function nameIn(file: SourceFile, exported: string, seen: Set<SourceFile>): string | undefined {
  if (seen.has(file)) return undefined;
  seen.add(file);
  for (const declaration of file.getExportDeclarations()) {
    if (declaration.getNamespaceExport() !== undefined) continue;
    const named = declaration.getNamedExports();
    const element = named.find((one) => exportedAs(one) === exported);
    if (named.length > 0 && element === undefined) continue;
    const name = element?.getName() ?? exported;
    let found: string | undefined;
    if (isOfPackage(declaration)) found = EXPORTED.test(name) ? name : undefined;
    else if (declaration.getModuleSpecifier() === undefined) found = importedName(file, name, seen);
    else {
      const from = declaration.getModuleSpecifierSourceFile();
      found = from === undefined ? undefined : nameIn(from, name, seen);
    }
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The name in the packages of what a file imports under a local name. */
function importedName(file: SourceFile, local: string, seen: Set<SourceFile>): string | undefined {
  for (const declaration of file.getImportDeclarations()) {
    const element = declaration
      .getNamedImports()
      .find((one) => (one.getAliasNode()?.getText() ?? one.getName()) === local);
    if (element === undefined) continue;
    if (THROTTLER.includes(declaration.getModuleSpecifierValue())) return element.getName();
    const from = declaration.getModuleSpecifierSourceFile();
    return from === undefined ? undefined : nameIn(from, element.getName(), seen);
  }
  return undefined;
}

function isOfPackage(declaration: ExportDeclaration): boolean {
  return THROTTLER.includes(declaration.getModuleSpecifierValue() ?? '');
}

function exportedAs(element: ExportSpecifier): string {
  return element.getAliasNode()?.getText() ?? element.getName();
}
