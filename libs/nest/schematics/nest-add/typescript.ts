import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as TypeScript from 'typescript';

export type Compiler = typeof TypeScript;

/**
 * The TypeScript compiler of an application, which reads its sources. The package brings none: a compiler weighs more than ten
 * times as much as the package. TypeScript 7 has no stable API, so beside it the compiler of Nest's command line serves.
 *
 * @param folder the application's, with its package.json
 */
export function compilerOf(folder: string): Compiler | undefined {
  const application = createRequire(join(folder, 'package.json'));
  const places = [
    () => application,
    () => createRequire(application.resolve('@nestjs/cli/package.json')),
    () => createRequire(process.argv[1]!),
  ];
  for (const place of places) {
    try {
      const found = place()('typescript') as Partial<Compiler>;
      if (typeof found.createSourceFile === 'function') return found as Compiler;
    } catch {
      // The next place may have one.
    }
  }
  return undefined;
}
