const STRING = String.raw`"(?:[ !#-\[\]-~]|\\["\\])*"`;
/** The bare items, in the order in which their first characters tell them apart. */
const BARE_ITEM = [
  STRING,
  String.raw`-?(?:\d{1,12}\.\d{1,3}|\d{1,15})(?![\d.])`,
  String.raw`@-?\d{1,15}(?![\d.])`,
  "[A-Za-z*][\\w!#$%&'*+\\-.^`|~:/]*",
  ':[A-Za-z\\d+/]*={0,2}:',
  String.raw`\?[01]`,
  String.raw`%"(?:[ !#$&-~]|%[\da-f]{2})*"`,
].join('|');
const ITEM = new RegExp(BARE_ITEM, 'y');
const PARAMETER = new RegExp(String.raw`; *([a-z*][a-z\d_\-.*]*)(?:=(${BARE_ITEM}))?`, 'y');
const COMMA = /[ \t]*,[ \t]*/y;
/** A field is a few hundred bytes. A longer one is not worth the client's time. */
const LONGEST_FIELD = 8192;
/**
 * The Strings of a structured field that is a List of Items. Empty when the field is malformed: such a field must be ignored as a
 * whole. Items that are no Strings are left out.
 *
 * @see RFC 9651, sections 3.1 and 4.2.1
 */
export function readStringList(field) {
  // Before anything reads it: a regular expression would take a time that grows with the square of the blanks.
  if (field === undefined || field.length > LONGEST_FIELD) return [];
  const text = withoutBlanks(field);
  if (text === '') return [];
  const items = [];
  let at = 0;
  const next = (pattern) => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null) at += match[0].length;
    return match;
  };
  do {
    const value = next(ITEM)?.[0];
    if (value === undefined) return [];
    const parameters = new Map();
    for (let match = next(PARAMETER); match !== null; match = next(PARAMETER)) {
      parameters.set(match[1], match[2] ?? '?1');
    }
    if (value.startsWith('"')) items.push({ name: value.slice(1, -1), parameters });
  } while (next(COMMA) !== null);
  return at === text.length ? items : [];
}
function withoutBlanks(field) {
  let [start, end] = [0, field.length];
  while (field[start] === ' ') start++;
  while (end > start && field[end - 1] === ' ') end--;
  return field.slice(start, end);
}
/** A parameter that is a non-negative Integer; undefined when it is missing or something else. */
export function readInteger(text) {
  return text !== undefined && /^\d+$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : undefined;
}
