/** Edits beyond which a name is another name, not a misspelt one: one in three characters, and two in all. */
const MAX_EDITS = 2;
const CHARACTERS_PER_EDIT = 3;

/** The name with the fewest edits to a misspelt one; undefined when no name is close. Case does not count. */
export function nearestName(misspelt: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let fewest = Math.min(MAX_EDITS, Math.floor(misspelt.length / CHARACTERS_PER_EDIT)) + 1;
  for (const name of names) {
    const edits = editsBetween(misspelt.toLowerCase(), name.toLowerCase());
    if (edits < fewest) [nearest, fewest] = [name, edits];
  }
  return nearest;
}

/**
 * Insertions, deletions, replacements and swaps of neighbours that turn one text into the other (Levenshtein's distance, with
 * swaps as in optimal string alignment).
 */
function editsBetween(one: string, other: string): number {
  let before: number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = row[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1);
      const swapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1] ? before[j - 2]! + 1 : Infinity;
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1, i > 1 && j > 1 ? swapped : Infinity));
    }
    [before, row] = [row, next];
  }
  return row[other.length]!;
}
