import { format } from 'prettier';

/** Characters of a line that fits the column of a page, as in `docs` (.prettierrc). */
const COLUMN = 76;
const BLOCK = /^( *)```ts\n([^]*?)\n\1```$/gm;
/** What Prettier adds and leaves out: the same code has the same rest. */
const FREE = /[\s,;()|'"]/g;

/** A page of Markdown whose TypeScript is broken into lines that fit its column. */
export async function fitted(page: string): Promise<string> {
  const blocks = Array.from(page.matchAll(BLOCK), ([, indent, code]) => ({ indent: indent!, code: code! }));
  const shown = await Promise.all(
    blocks.map(async ({ indent, code }) => {
      const text = await fittedCode(`\n${code}`.replaceAll(`\n${indent}`, '\n').slice(1));
      return `${indent}\`\`\`ts\n${text.replaceAll(/^(?=.)/gm, indent)}\n${indent}\`\`\``;
    }),
  );
  return page.replaceAll(BLOCK, () => shown.shift()!);
}

/** A sample may be an expression, or some members of an object. What is no code stays as it is. */
async function fittedCode(code: string): Promise<string> {
  if (code.split('\n').every(({ length }) => length <= COLUMN)) return code;
  for (const [begin, end, unwrapped] of FORMS)
    try {
      const text = await format(begin + code + end, { parser: 'typescript', printWidth: COLUMN, singleQuote: true });
      const own = unwrapped(text.trim());
      if (own.replaceAll(FREE, '') === code.replaceAll(FREE, '')) return own;
    } catch {
      // It does not parse so.
    }
  return code;
}

const FORMS: readonly (readonly [begin: string, end: string, unwrapped: (text: string) => string])[] = [
  ['', '', (text) => text],
  ['(', ')', (text) => text.replaceAll(/^\(|\);?$/g, '')],
  ['({', '})', (text) => text.replaceAll(/^\(\{\n|,?\n\}\);?$/g, '').replaceAll(/^ {2}/gm, '')],
];
