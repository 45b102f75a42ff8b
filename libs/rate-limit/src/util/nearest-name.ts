/** Edits beyond which a name is another name, not a misspelt one: one in three characters, and two in all. */
const MAX_EDITS = 2;
const CHARACTERS_PER_EDIT = 3;

/** The name that is fewest edits away from a misspelt one; undefined when none is close. Case does not count. */
export function nearestName(misspelt: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let fewest = Math.min(MAX_EDITS, Math.floor(misspelt.length / CHARACTERS_PER_EDIT)) + 1;
  for (const name of names) {
    const edits = editsBetween(misspelt.toLowerCase(), name.toLowerCase());
    if (edits < fewest) [nearest, fewest] = [name, edits];
  }
  return nearest;
}

/** The Levenshtein distance: insertions, deletions and replacements that turn one text into the other. */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = row[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[other.length]!;
}
