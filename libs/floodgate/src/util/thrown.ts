import { shown } from './config-error.js';

/** Characters of a reason. A message may hold the whole of what a server or a client has sent. */
const MAX_REASON = 1_000;

/** The reason in a thrown value, for a log line. Anything can be thrown, and reading it can throw as well. */
export function reasonOf(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return shown(thrown);
    const { message } = thrown as { readonly message: unknown };
    if (typeof message !== 'string') return shown(message);
    return message.length > MAX_REASON ? `${message.slice(0, MAX_REASON)}...` : message;
  } catch {
    return 'an error that cannot be read';
  }
}

/** Marks the classes of which `readable` reads nothing. */
const READABLE = Symbol('readable');

/**
 * Says that errors of these classes, which are the library's own, can be read. V8 makes the text of a stack when it is read first,
 * which takes longer than a decision, and ten times that with source maps: a 429 and a store that fails must not pay for it.
 */
export function alwaysReadable(...classes: readonly { readonly prototype: Error }[]): void {
  for (const { prototype } of classes) Object.defineProperty(prototype, READABLE, { value: true });
}

/** A thrown value that Nest, filters and loggers can read: the value itself, or an error in its place. */
export function readable(thrown: unknown): unknown {
  if (typeof thrown === 'symbol') return new Error(reasonOf(thrown));
  if (thrown === null || (typeof thrown !== 'object' && typeof thrown !== 'function')) return thrown;
  try {
    if ((thrown as { readonly [READABLE]?: true })[READABLE] === true) return thrown;
    // Reads what they would read. The results do not matter.
    const { constructor, message, name, stack, statusCode, status, code } = thrown as Readonly<Record<string, unknown>>;
    void (thrown instanceof Error && constructor);
    // An object may have no text, and a symbol has none in a template.
    [thrown, message, name, stack, statusCode, status, code].join('');
    return thrown;
  } catch {
    return new Error(reasonOf(thrown));
  }
}
