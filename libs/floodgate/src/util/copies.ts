import { fileURLToPath } from 'node:url';

/** One loaded copy of a package. A copy in another format, version or folder has its own classes. */
export interface Copy {
  readonly format: string;
  /** The file that was loaded. */
  readonly file: string;
}

const REGISTRY = Symbol.for('floodgate:copies');

/** The copies that this process has loaded, by package and by their texts: Jest loads one file several times. */
const copies = ((globalThis as { [REGISTRY]?: Map<string, Set<string>> })[REGISTRY] ??= new Map());

/** Records that the calling file belongs to a loaded copy of a package. */
export function loadedCopy(name: string, format: string): Copy {
  const copy = { format, file: callingFile() };
  const known = copies.get(name) ?? new Set();
  copies.set(name, known.add(textOf(copy)));
  return copy;
}

/** The texts of the other copies of a package. */
export function otherCopies(name: string, copy: Copy): readonly string[] {
  return [...(copies.get(name) ?? [])].filter((text) => text !== textOf(copy));
}

export function textOf({ format, file }: Copy): string {
  return `${format} from ${file}`;
}

/** The file that calls `loadedCopy`. `import.meta` is not used, because esbuild warns about it in CommonJS. */
function callingFile(): string {
  const { stackTraceLimit } = Error;
  // oxlint-disable-next-line unbound-method -- it is put back, not called
  const { prepareStackTrace } = Error;
  try {
    Error.stackTraceLimit = 3;
    Error.prepareStackTrace = (_, [, , caller]) => caller?.getFileName();
    const file = (new Error('here') as { stack?: unknown }).stack;
    if (typeof file !== 'string') return 'an unknown file';
    return file.startsWith('file:') ? fileURLToPath(file) : file;
  } catch {
    return 'an unknown file'; // the application has frozen Error
  } finally {
    if (!Object.isFrozen(Error)) Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  }
}
