// Comments, indentation and blanks around operators are for readers of lua/: Redis needs none, and the package carries each program.

/**
 * What looks like a comment, a line's end or an operator and may be none: comments and strings, long or short, line ends, and operators
 * with the blanks around them. `-` and `.` are not among these: next to another one, or to a number, they would mean something else.
 */
const TOKEN =
  /(?<long>--\[(?<level>=*)\[[^]*?\]\k<level>\])|(?<comment>--[^\n]*)|(?<end>[ \t]*\n\s*)|[ \t]*(?<operator>[=~<>]=|[=<>,+*/(){}])[ \t]*|\[(?<equals>=*)\[[^]*?\]\k<equals>\]|"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'/g;

/**
 * A Lua program without comments, indentation, blanks around operators and empty lines. Statements keep their lines, so that the message of an error still
 * names one.
 */
export function stripped(program) {
  const uncommented = program.replace(TOKEN, (token, ...rest) => {
    const { long, comment } = rest.at(-1);
    return long !== undefined ? ' ' : comment !== undefined ? '' : token;
  });
  const short = uncommented.replace(TOKEN, (token, ...rest) => {
    const { end, operator } = rest.at(-1);
    return end !== undefined ? '\n' : (operator ?? token);
  });
  return short.trim();
}
