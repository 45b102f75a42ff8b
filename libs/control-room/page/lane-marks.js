/** The place of a mark, as a share of the window's width. The style sheet draws it a little narrower. */
export const SLOT = 0.024;
/** The place of a text such as “+12”. */
const LABEL = 5 * SLOT;
/** Marks of one instant that are drawn; a text counts the others. Lower where the window has no room for more. */
const BOUNDS = [6, 3, 1];

/**
 * A mark, or a text for `more` marks of the same instant. `at` is its right edge, from 0, the oldest, to 1, now.
 *
 * @typedef {{ at: number, more: number }} Placed
 */

/**
 * Places marks side by side, each near its instant, none on another.
 *
 * @param {readonly number[]} marks instants, oldest first
 * @param {number} now
 * @param {number} windowMs
 * @returns {Placed[]} oldest first
 */
export function placed(marks, now, windowMs) {
  const shares = marks.map((mark) => Math.min(1, 1 - Math.max(0, now - mark) / windowMs)).filter((at) => at > 0);
  for (const bound of BOUNDS) {
    const some = bounded(shares, bound);
    if (some.reduce((sum, one) => sum + widthOf(one), 0) <= 1) return apart(some);
  }
  // Full from edge to edge: the newest, and a text for the others.
  const newest = shares.slice(-Math.floor((1 - LABEL) / SLOT));
  const others = { at: LABEL, more: shares.length - newest.length };
  return apart([others, ...newest.map((at) => ({ at, more: 0 }))]);
}

/** Counts what is beyond the bound in each group of marks that would touch. @param {readonly number[]} shares @param {number} bound */
function bounded(shares, bound) {
  /** @type {number[][]} */
  const groups = [];
  for (const at of shares) {
    const group = groups.at(-1);
    if (group !== undefined && at - /** @type {number} */ (group[0]) < SLOT) group.push(at);
    else groups.push([at]);
  }
  return groups.flatMap((group) => {
    const more = Math.max(0, group.length - bound);
    const drawn = group.slice(more).map((at) => ({ at, more: 0 }));
    return more > 0 ? [{ at: /** @type {number} */ (group[0]), more }, ...drawn] : drawn;
  });
}

/** @param {readonly Placed[]} some */
function apart(some) {
  const moved = some.map((one) => ({ ...one }));
  // To the left, away from newer ones; then to the right, so that none leaves the window before its time.
  let right = 1;
  for (const one of moved.toReversed()) {
    one.at = Math.min(one.at, right);
    right = one.at - widthOf(one);
  }
  let left = 0;
  for (const one of moved) {
    one.at = Math.max(one.at, left + widthOf(one));
    left = one.at;
  }
  return moved;
}

/** @param {Placed} one */
function widthOf({ more }) {
  return more > 0 ? LABEL : SLOT;
}
