/**
 * The options in which what is wanted differs from what is given, such as `db: 0`.
 *
 * @param missing whether an option that is not given counts as different
 */
export function differences(wanted: object, given: object, missing = false): string[] {
  const values = given as Readonly<Record<string, unknown>>;
  return Object.entries(wanted)
    .filter(
      ([name, value]) => values[name] !== value && (missing ? value !== undefined || values[name] : name in values),
    )
    .map(([name, value]) => inWords(name, value));
}

/** An option and its value; a function by its name. */
export function inWords(name: string, value: unknown): string {
  return typeof value === 'function' ? name : `${name}: ${String(value)}`;
}
