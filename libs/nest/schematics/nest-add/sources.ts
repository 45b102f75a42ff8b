import type * as TypeScript from 'typescript';
import { filesBelow, textOf, type Tree } from './schematic.js';
import type { Compiler } from './typescript.js';

const SOURCE = /(?<!\.d)(?<!\.spec)(?<!\.test)(?<!\.e2e-spec)\.[cm]?ts$/;

/** The sources of an application. */
export class Sources {
  readonly compilerOptions: TypeScript.CompilerOptions;
  /** All that belong to the application, without its tests. */
  readonly paths: readonly string[];
  private readonly host: TypeScript.ModuleResolutionHost & TypeScript.ParseConfigHost;
  private readonly parsed = new Map<string, TypeScript.SourceFile>();

  /** @param root the folder of the sources, such as `/src` */
  constructor(
    readonly ts: Compiler,
    private readonly tree: Tree,
    root: string,
  ) {
    this.host = {
      fileExists: (path) => tree.exists(path),
      readFile: (path) => textOf(tree, path),
      readDirectory: () => [],
      useCaseSensitiveFileNames: true,
    };
    this.compilerOptions = this.optionsFor(root);
    this.paths = filesBelow(tree, root, (name) => SOURCE.test(name));
  }

  text(path: string): string {
    return textOf(this.tree, path)!;
  }

  parse(path: string): TypeScript.SourceFile {
    const { ts } = this;
    const known = this.parsed.get(path) ?? ts.createSourceFile(path, this.text(path), ts.ScriptTarget.Latest, true);
    this.parsed.set(path, known);
    return known;
  }

  /** The file that an import names; undefined for a package, and where there is none. */
  resolve(specifier: string, from: string): string | undefined {
    const found = this.ts.resolveModuleName(specifier, from, this.compilerOptions, this.host).resolvedModule;
    return found === undefined || /\/node_modules\/|\.d\.[cm]?ts$/.test(found.resolvedFileName)
      ? undefined
      : found.resolvedFileName;
  }

  /** Those of the tsconfig.json nearest to the sources. */
  private optionsFor(root: string): TypeScript.CompilerOptions {
    for (let folder = root; ; folder = folder.slice(0, folder.lastIndexOf('/'))) {
      const path = ['tsconfig.app.json', 'tsconfig.json']
        .map((name) => `${folder}/${name}`)
        .find((one) => this.tree.exists(one));
      if (path !== undefined) {
        const { config } = this.ts.readConfigFile(path, (name) => textOf(this.tree, name)) as { config?: object };
        return this.ts.parseJsonConfigFileContent(config ?? {}, this.host, folder === '' ? '/' : folder).options;
      }
      if (folder === '') return {};
    }
  }
}

/** The nodes below a node that fit, and itself, in the order of the text. */
export function nodesIn<T extends TypeScript.Node>(
  ts: Compiler,
  root: TypeScript.Node,
  fits: (node: TypeScript.Node) => node is T,
): T[] {
  const found: T[] = [];
  const look = (node: TypeScript.Node): void => {
    if (fits(node)) found.push(node);
    ts.forEachChild(node, look);
  };
  look(root);
  return found;
}
