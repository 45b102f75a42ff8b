import { fileURLToPath } from 'node:url';

import { withHelp } from '../../util/error-codes.js';
import { RateLimitLogger } from '../handlers/logger.js';

/** One loaded copy of the package. A copy in another format, version or folder has its own classes. */
export interface Copy {
  readonly format: string;
  /** The file that was loaded. */
  readonly file: string;
}

/** Set by the build at the head of each file. */
declare const FLOODGATE_FORMAT: string | undefined;

const REGISTRY = Symbol.for('nestjs-floodgate:copies');

/** The copies that this process has loaded, by their texts: Jest loads one file several times. */
const copies = ((globalThis as { [REGISTRY]?: Map<string, Copy> })[REGISTRY] ??= new Map());

export const THIS_COPY: Copy = {
  format: typeof FLOODGATE_FORMAT === 'string' ? FLOODGATE_FORMAT : 'TypeScript',
  file: thisFile(),
};
copies.set(textOf(THIS_COPY), THIS_COPY);

/**
 * Warns if this process has loaded several copies of the package, as the application boots. Decorators of any copy work,
 * because all copies use one metadata key. Classes differ: Nest then does not find what is injected, and a filter catches
 * nothing.
 */
export function warnOfCopies(): void {
  const own = textOf(THIS_COPY);
  const others = [...copies.keys()].filter((text) => text !== own);
  if (others.length > 0) new RateLimitLogger().warn(withHelp(`${several(others)} ${HOW_TO_MEND}`, 'FG_MODULE_IMPORT'));
}

function several(others: readonly string[]): string {
  const list = [`${textOf(THIS_COPY)} (of the RateLimitModule that boots)`, ...others].join('; ');
  return (
    `nestjs-floodgate is loaded ${others.length + 1} times, with classes of their own: ${list}. Decorators of any of them limit, ` +
    `but RateLimiter, RateLimitGuard and the exceptions of another one are unknown here.`
  );
}

export const HOW_TO_MEND =
  'Load it once: use either import or require in all files that the process loads, and see `npm ls nestjs-floodgate` for a second ' +
  'installation (`npm dedupe`, or let a library name it in its peerDependencies)';

export function textOf({ format, file }: Copy): string {
  return `${format} from ${file}`;
}

/** The file of this module. `import.meta` is not used, because esbuild warns about it in CommonJS. */
function thisFile(): string {
  const { stackTraceLimit } = Error;
  // oxlint-disable-next-line unbound-method -- it is put back, not called
  const { prepareStackTrace } = Error;
  try {
    Error.stackTraceLimit = 1;
    Error.prepareStackTrace = (_, [caller]) => caller?.getFileName();
    const file = (new Error('here') as { stack?: unknown }).stack;
    if (typeof file !== 'string') return 'an unknown file';
    return file.startsWith('file:') ? fileURLToPath(file) : file;
  } catch {
    return 'an unknown file'; // the application has frozen Error
  } finally {
    if (!Object.isFrozen(Error)) Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  }
}
