import { AssertionError } from 'node:assert';
import { inspect, isDeepStrictEqual } from 'node:util';

/** @throws {AssertionError} unless `actual` is `expected`, or has exactly its fields; a class of its own is fine */
export function expectSame(what: string, actual: unknown, expected: unknown): void {
  const plain = plainOf(actual);
  if (!isDeepStrictEqual(plain, plainOf(expected))) throw differs(what, plain, expected);
}

/** @throws {AssertionError} unless `actual` has at least the fields of `expected` */
export function expectFields(what: string, actual: unknown, expected: object): void {
  const part = partOf(actual, expected);
  if (!isDeepStrictEqual(part, expected)) throw differs(what, part, expected);
}

function differs(what: string, actual: unknown, expected: unknown): AssertionError {
  const text = (value: unknown): string => inspect(value, { depth: 5, breakLength: Infinity });
  const message = `${what}\n  expected: ${text(expected)}\n  got:      ${text(actual)}`;
  return new AssertionError({ message, actual, expected, operator: 'conformance' });
}

/** A value without its classes and its undefined fields. */
function plainOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainOf);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, plainOf(field)]));
}

/** The part of a value that `expected` has as well. Arrays keep their lengths. */
function partOf(value: unknown, expected: unknown): unknown {
  if (typeof value !== 'object' || value === null || typeof expected !== 'object' || expected === null) return value;
  if (Array.isArray(value)) return value.map((one, i) => partOf(one, (expected as unknown[])[i]));
  const of = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(Object.entries(expected).map(([name, field]) => [name, partOf(of[name], field)]));
}
