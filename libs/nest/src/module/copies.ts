import { ENGINE_COPY, otherCopies, textOf, withHelp } from 'floodgate/internal';
import { RateLimitLogger } from '../handlers/logger.js';
import { THIS_COPY } from './this-copy.js';

/**
 * Warns if this process has loaded several copies of a package, as the application boots. Decorators of any copy work,
 * because all copies use one metadata key. Classes differ: Nest then does not find what is injected, and a filter catches
 * nothing.
 */
export function warnOfCopies(): void {
  const warning =
    several(
      'nestjs-floodgate',
      THIS_COPY,
      'Decorators of any of them limit, but RateLimiter, RateLimitGuard and the exceptions of another one are unknown here.',
    ) ??
    several(
      'floodgate',
      ENGINE_COPY,
      'Their stores and limiters decide, but `instanceof` and injection do not know RateLimiter and the errors of another one.',
    );
  if (warning !== undefined) new RateLimitLogger().warn(withHelp(warning, 'FG_MODULE_IMPORT'));
}

function several(name: string, copy: typeof THIS_COPY, effect: string): string | undefined {
  const others = otherCopies(name, copy);
  if (others.length === 0) return undefined;
  const list = [`${textOf(copy)} (of the RateLimitModule that boots)`, ...others].join('; ');
  return `${name} is loaded ${others.length + 1} times, with classes of their own: ${list}. ${effect} ${howToMend(name)}`;
}

export function howToMend(name: string): string {
  return (
    `Load it once: use either import or require in all files that the process loads, and see \`npm ls ${name}\` for a second ` +
    'installation (`npm dedupe`, or let a library name it in its peerDependencies)'
  );
}
