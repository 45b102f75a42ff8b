import type { Header } from './headers/header.js';
import { DRAFT, X_RATE_LIMIT, X_RATE_LIMIT_ESTIMATED } from './headers/names.js';

/** An item of a list of structured fields (RFC 9651): commas within a string do not end it. */
const ITEM = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g;
const NAME = /^\s*"(?:[^"\\]|\\.)*"/;

/**
 * The headers of a decision that comes after another one on the same response. `X-RateLimit-*` stay those of the policy with the
 * smallest share left, and the lists of the draft get the items of both. A policy of the same name takes the place of the earlier one.
 *
 * @param known the value of a header that the response has; undefined without it
 */
export function besideEarlier(
  headers: readonly Header[],
  known: (name: string) => string | undefined,
): readonly Header[] {
  const isLooser = isLooserThan(headers, known);
  return headers.flatMap(([name, value]): Header[] => {
    if (isLooser && (isOf(X_RATE_LIMIT, name) || name === X_RATE_LIMIT_ESTIMATED)) return [];
    const earlier = isOf(DRAFT, name) ? known(name) : undefined;
    return [[name, earlier === undefined ? value : joined(earlier, value)]];
  });
}

/** Whether the response names a policy that has a smaller share left. Among equals the later decision wins. */
function isLooserThan(headers: readonly Header[], known: (name: string) => string | undefined): boolean {
  const own = (name: string): string | undefined => headers.find(([one]) => one === name)?.[1];
  const [limit, remaining] = X_RATE_LIMIT;
  const [ours, theirs] = [own, known].map((read) => [Number(read(limit)), Number(read(remaining))] as const);
  return theirs![1] * ours![0] < ours![1] * theirs![0];
}

function joined(earlier: string, later: string): string {
  const items = later.match(ITEM) ?? [];
  const names = new Set(items.map(nameOf));
  const kept = (earlier.match(ITEM) ?? []).filter((item) => !names.has(nameOf(item)));
  return [...kept, ...items].map((item) => item.trim()).join(', ');
}

function nameOf(item: string): string | undefined {
  return NAME.exec(item)?.[0].trim();
}

function isOf(format: readonly string[], name: string): boolean {
  return format.includes(name);
}
