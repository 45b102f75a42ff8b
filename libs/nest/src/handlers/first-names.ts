/** The most names that one log line has. */
const MAX_NAMED = 3;

/** Names the first of many places, as in `a, b, c and 4 more`. */
export function firstNames(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : '';
  return `${names.slice(0, MAX_NAMED).join(', ')}${more}`;
}
