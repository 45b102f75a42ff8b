import { isUtf8 } from 'node:buffer';
import { readFileSync, writeFileSync } from 'node:fs';

const MARK = '\uFEFF';

/** A file that is to be written. */
export interface Rewritten {
  readonly path: string;
  readonly before: Buffer;
  readonly after: string;
}

/** The text of a source, as the compiler reads it: UTF-16 where its byte order mark says so. */
export function textOf(path: string): string {
  const bytes = readFileSync(path);
  const mark = bytes.toString('hex', 0, 2);
  return new TextDecoder(mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : 'utf-8').decode(bytes);
}

/** Says why no file was written. */
export class FilesError extends Error {
  constructor(message: string) {
    super(`${message}. No file was written.`);
  }
}

/**
 * A file with another text: it keeps its byte order mark.
 *
 * @throws {FilesError} when the file is not UTF-8: its other bytes would be lost
 */
export function rewritten(path: string, before: Buffer, after: string): Rewritten {
  if (!isUtf8(before)) throw new FilesError(`${path} is not UTF-8: save it as UTF-8, then run again`);
  const isMarked = before.toString().startsWith(MARK) && !after.startsWith(MARK);
  return { path, before, after: isMarked ? MARK + after : after };
}

/**
 * Writes all files, or none: a run that stopped halfway would find nothing to do the next time.
 *
 * @throws {FilesError} when a file cannot be written
 */
export function writeAll(
  files: readonly Rewritten[],
  write: (path: string, content: string | Buffer) => void = writeFileSync,
): void {
  for (const [i, { path, after }] of files.entries()) {
    try {
      write(path, after);
    } catch (error) {
      for (const written of files.slice(0, i)) write(written.path, written.before);
      throw new FilesError(`${path} cannot be written (${(error as Error).message})`);
    }
  }
}
