/** What takes the place of what in the dependencies. */
const REPLACED = ['@nestjs/throttler', '@nest-lab/throttler-storage-redis'];
const FIELDS = ['dependencies', 'devDependencies', 'peerDependencies'] as const;

/**
 * A package.json with Floodgate in place of @nestjs/throttler, indented as it was.
 *
 * @param version what `nestjs-floodgate` is required in
 * @param stillNeeded whether a file still needs @nestjs/throttler
 */
export function migratePackageFile(text: string, version: string, stillNeeded: boolean): string {
  const [mark] = /^\uFEFF?/.exec(text)!;
  const parsed = JSON.parse(text.slice(mark.length)) as Record<string, Record<string, string> | undefined>;
  const field = FIELDS.find((name) => REPLACED.some((dependency) => parsed[name]?.[dependency] !== undefined));
  if (field === undefined) return text;
  const isKnown = FIELDS.some((name) => parsed[name]?.['nestjs-floodgate'] !== undefined);
  for (const name of FIELDS) {
    if (parsed[name] === undefined || stillNeeded) continue;
    for (const dependency of REPLACED) delete parsed[name][dependency];
  }
  if (!isKnown) {
    const all = { ...parsed[field], 'nestjs-floodgate': version };
    // npm sorts them in this order.
    parsed[field] = Object.fromEntries(
      Object.entries(all).toSorted(([one], [other]) => one.localeCompare(other, 'en')),
    );
  }
  const indent = /^[ \t]+/m.exec(text)?.[0] ?? '  ';
  const lines = JSON.stringify(parsed, null, indent) + (text.endsWith('\n') ? '\n' : '');
  return mark + (text.includes('\r\n') ? lines.replaceAll('\n', '\r\n') : lines);
}
