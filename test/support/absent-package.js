// `node --import`, after the TypeScript loader: the package named in ABSENT_PACKAGE is not installed.
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) register(import.meta.url);

export function resolve(specifier, context, next) {
  const absent = process.env.ABSENT_PACKAGE;
  if (specifier !== absent && !specifier.startsWith(`${absent}/`)) return next(specifier, context);
  throw Object.assign(new Error(`Cannot find package '${absent}'`), { code: 'ERR_MODULE_NOT_FOUND' });
}
