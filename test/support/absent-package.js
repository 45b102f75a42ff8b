// `node --import`, after the TypeScript loader: the packages named in ABSENT_PACKAGE, with commas between, are not installed.
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) register(import.meta.url);

export function resolve(specifier, context, next) {
  const names = (process.env.ABSENT_PACKAGE ?? '').split(',');
  const absent = names.find((name) => specifier === name || specifier.startsWith(`${name}/`));
  if (absent === undefined) return next(specifier, context);
  throw Object.assign(new Error(`Cannot find package '${absent}'`), { code: 'ERR_MODULE_NOT_FOUND' });
}
