import type { SourceFile } from 'ts-morph';
import type { Barrels, Reexport } from './barrels.js';
import { FileRewrite } from './file-rewrite.js';
import type { Notes } from './notes.js';

/**
 * Removes what the application's files pass on of the packages, where no file needs it any more.
 *
 * @param rewrites by their files; files that join are added
 * @returns whether all of it stays, because something could not be rewritten
 */
export function rewriteBarrels(barrels: Barrels, rewrites: Map<SourceFile, FileRewrite>, notes: Notes): boolean {
  const needed = [...new Set([...rewrites.values()].flatMap((rewrite) => rewrite.stillPassedOn))];
  for (const reexport of barrels.reexports) {
    const { statement } = reexport;
    if (needed.length > 0) {
      notes.add(statement, `this stays: ${needed.join(', ')} could not be rewritten everywhere`);
      for (const element of statement.getNamedExports())
        rewrites.get(statement.getSourceFile())?.passOn(element.getName());
      continue;
    }
    const file = statement.getSourceFile();
    const rewrite = rewrites.get(file) ?? new FileRewrite(file, []);
    rewrites.set(file, rewrite);
    remove(reexport, rewrite);
    const names = reexport.elements?.map((one) => one.getName()).join(', ') ?? 'what @nestjs/throttler exports';
    notes.add(
      statement,
      `this no longer passes on ${names}: what imports it from outside of this folder needs nestjs-floodgate`,
    );
  }
  return needed.length > 0;
}

function remove({ statement, elements }: Reexport, { edits }: FileRewrite): void {
  const kept = statement.getNamedExports().filter((one) => elements?.includes(one) === false);
  const isAlone = edits.file.getStatements().length === 1;
  if (kept.length > 0) {
    const text = statement.getText();
    const list = kept.map((one) => one.getText()).join(', ');
    edits.replace(statement, `${text.slice(0, text.indexOf('{'))}{ ${list} ${text.slice(text.indexOf('}'))}`);
  } else if (isAlone) {
    // The file stays a module: others may export everything of it.
    edits.replace(statement, 'export {};');
  } else edits.remove(statement);
}
