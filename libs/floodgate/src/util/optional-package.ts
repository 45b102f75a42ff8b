import { RateLimitConfigError } from './config-error.js';

/** A package that users install only for what needs it. */
export interface OptionalPackage {
  readonly name: string;
  /** The part that needs the package, with which the message begins, such as `'RateLimitModule, redis'`. */
  readonly where: string;
  /** The versions that fit, such as `'^5.4.2 || ^6.0.0'`: as in `peerDependencies`. */
  readonly versions: string;
}

/**
 * Makes the error for an optional package that could not be loaded: it is not installed, or it is broken. Call it in the `catch`
 * of an `import()` that is written exactly as in the example.
 *
 * The form matters. The name is a literal, so that bundlers include a package that is installed. `try` stands directly around
 * `await import()`, in the same function: only there do esbuild, webpack and Rspack accept a package that is not installed. The
 * CommonJS build turns `import()` into `require()`, because Jest without `--experimental-vm-modules` has no `import()`. With
 * either, take named exports alone: only `import()` adds a `default` to a CommonJS package.
 *
 * @returns the error to throw; its `cause` is the given error
 * @example
 * ```ts
 * async function promClient() {
 *   try {
 *     return await import('prom-client');
 *   } catch (error) {
 *     throw optionalPackageError(error, { name: 'prom-client', where: 'RateLimitMetricsModule', versions: '^15.0.0' });
 *   }
 * }
 * ```
 */
export function optionalPackageError(error: unknown, { name, where, versions }: OptionalPackage): RateLimitConfigError {
  const { message = String(error) } = Object(error) as { message?: string };
  const problem = isPackageAbsent(error, name)
    ? `needs the package ${name}, which is not installed: npm install "${name}@${versions}"`
    : `needs the package ${name} (${versions}), which is installed but cannot be loaded: ${message}`;
  const failure = new RateLimitConfigError(where, problem, 'FG_MISSING_PACKAGE');
  failure.cause = error;
  return failure;
}

/** Whether an error of `import()` means that the package is not installed, and not that it is broken. */
export function isPackageAbsent(error: unknown, name: string): boolean {
  const { code, message = String(error) } = Object(error) as { code?: unknown; message?: string };
  // A package may also be installed and lack one of its own dependencies: the message then names the dependency first.
  return (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') && namesFirst(message, name);
}

/** The first name in quotes of `Cannot find package 'x' imported from '...'`. Yarn's PnP sets no quotes. */
function namesFirst(message: string, name: string): boolean {
  const [, quoted] = /'([^']+)'/.exec(message) ?? [];
  return quoted === undefined ? message.includes(name) : quoted === name || quoted.startsWith(`${name}/`);
}
