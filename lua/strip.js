// Comments and indentation are for readers of lua/: Redis needs neither, and the package carries each program.

/** What looks like a comment or a line's end and may be none: comments and strings, long or short, and line ends. */
const TOKEN =
  /(?<long>--\[(?<level>=*)\[[^]*?\]\k<level>\])|(?<comment>--[^\n]*)|(?<end>[ \t]*\n\s*)|\[(?<equals>=*)\[[^]*?\]\k<equals>\]|"(?:\\[^]|[^"\\])*"|'(?:\\[^]|[^'\\])*'/g;

/**
 * A Lua program without comments, indentation and empty lines. Statements keep their lines, so that the message of an error still
 * names one.
 */
export function stripped(program) {
  const uncommented = program.replace(TOKEN, (token, ...rest) => {
    const { long, comment } = rest.at(-1);
    return long !== undefined ? ' ' : comment !== undefined ? '' : token;
  });
  return uncommented.replace(TOKEN, (token, ...rest) => (rest.at(-1).end === undefined ? token : '\n')).trim();
}
