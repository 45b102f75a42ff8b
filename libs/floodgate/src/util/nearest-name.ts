/** The most edits in a misspelt name: one for every three characters, and two in all. */
const MAX_EDITS = 2;
const CHARACTERS_PER_EDIT = 3;
/**
 * Longer texts are not compared. The time of a comparison grows with the length, and the text may come from a client or an
 * operator: so callers need not bound it first.
 */
const LONGEST_NAME = 128;

/**
 * The name with the fewest edits to a misspelt one; undefined when no name is close. Case does not count, and neither does a plural.
 * The time is bounded for each name, whatever the text is.
 */
export function nearestName(misspelt: string, names: Iterable<string>): string | undefined {
  if (misspelt.length > LONGEST_NAME) return undefined;
  const given = misspelt.toLowerCase();
  let nearest: string | undefined;
  let fewest = Math.min(MAX_EDITS, Math.floor(given.length / CHARACTERS_PER_EDIT)) + 1;
  for (const name of names) {
    if (name.length > LONGEST_NAME) continue;
    const known = name.toLowerCase();
    const edits = singular(given) === singular(known) ? Number(given !== known) : editsBetween(given, known, fewest);
    if (edits < fewest) [nearest, fewest] = [name, edits];
  }
  return nearest;
}

/** What a message adds for a misspelt name, such as ` Did you mean 'token-bucket'?`; an empty text when no name is close. */
export function didYouMean(
  misspelt: unknown,
  names: Iterable<string>,
  show = (name: string): string => `'${name}'`,
): string {
  const nearest = typeof misspelt === 'string' ? nearestName(misspelt, names) : undefined;
  return nearest === undefined ? '' : ` Did you mean ${show(nearest)}?`;
}

function singular(name: string): string {
  if (name.length < CHARACTERS_PER_EDIT) return name;
  return name.endsWith('ies') ? `${name.slice(0, -3)}y` : name.replace(/s$/, '');
}

/**
 * Insertions, deletions, replacements and swaps of neighbours that turn one text into the other (Levenshtein's distance, with
 * swaps as in optimal string alignment); `enough` when they are as many or more.
 *
 * Only the cells near the diagonal are computed: those further away take more edits than count. A row has those of `one`'s first
 * `i` characters; in its middle stands the cell of as many characters of `other`.
 */
function editsBetween(one: string, other: string, enough: number): number {
  const band = enough - 1;
  if (Math.abs(one.length - other.length) > band) return enough;
  const width = 2 * band + 1;
  let before = Array<number>(width).fill(enough);
  let row = Array.from({ length: width }, (_, k) => (k < band ? enough : k - band));
  let next = Array<number>(width).fill(enough);
  for (let i = 1; i <= one.length; i++) {
    let least = enough;
    for (let k = 0; k < width; k++) {
      const j = i + k - band;
      if (j < 0 || j > other.length) next[k] = enough;
      else if (j === 0) next[k] = Math.min(i, enough);
      else {
        const replaced = row[k]! + (one[i - 1] === other[j - 1] ? 0 : 1);
        const inserted = (k > 0 ? next[k - 1]! : enough) + 1;
        const deleted = (k + 1 < width ? row[k + 1]! : enough) + 1;
        const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
        next[k] = Math.min(enough, replaced, inserted, deleted, isSwap ? before[k]! + 1 : enough);
      }
      least = Math.min(least, next[k]!);
    }
    if (least >= enough) return enough;
    [before, row, next] = [row, next, before];
  }
  return row[other.length - one.length + band]!;
}
