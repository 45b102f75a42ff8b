import type { MarkdownEnv } from 'vitepress';

/** A cell of a table that is nothing but code: an option, an algorithm, a header. It is what its section is about. */
const DEFINED = /<td><code>([^<]*)<\/code><\/td>/g;
/** How many words of running text such a cell counts for. */
const WEIGHT = 4;

/** What the search finds of a page. */
export function searchedText(
  source: string,
  env: MarkdownEnv,
  md: { render(source: string, env: object): string },
): string {
  const html = md.render(source, Object.assign(env, { isSearched: true }));
  return html.replaceAll(DEFINED, (_, code: string) => `<td>${`${code} `.repeat(WEIGHT)}</td>`);
}

/*
 * VitePress sends these functions to the browser as text, so that each uses nothing but what stands in it.
 */

/** Titles and headings count more than text, and guides more than pages that mention everything. */
export const MINI_SEARCH = {
  options: {
    // Compounds, such as `Retry-After`, `token-bucket` and `FG_TRUST_PROXY`, are found as a whole, too.
    tokenize: (text: string): string[] => [
      ...text.split(/[\n\r\p{Z}\p{P}]+/u),
      ...(text.match(/[\p{L}\d]+(?:[-_][\p{L}\d]+)+/gu) ?? []),
    ],
    // `priority` finds `priorities`.
    processTerm: (term: string): string => {
      const word = term.toLowerCase();
      return word.length < 5 ? word : word.replace(/ies$/, 'y').replace(/(?<![su])s$/, '');
    },
  },
  searchOptions: {
    boost: { title: 6, titles: 3, text: 1 },
    prefix: (term: string): boolean => term.length > 2,
    fuzzy: (term: string): number | boolean => (term.length > 4 ? 0.2 : false),
    weights: { prefix: 0.2, fuzzy: 0.1 },
    // `token bucket` finds `token-bucket`. A code such as FG_TRUST_PROXY is one word.
    tokenize: (query: string): string[] => {
      const words = query.split(/(?:[\n\r\p{Z}]|(?!_)\p{P})+/u).filter((word) => word !== '');
      return [...words, ...words.slice(1).map((word, i) => `${words[i]}-${word}`)];
    },
    boostTerm: (term: string): number => {
      const isCommon =
        /^(?:a|after|all|an|and|are|as|at|be|before|by|can|do|does|for|from|how|i|in|is|it|my|not|of|on|or|per|so|that|the|to|what|when|where|which|who|why|with|you|your)$/;
      if (isCommon.test(term)) return 0.1;
      return term.includes('-') ? 2 : 1;
    },
    boostDocument: (id: string): number => {
      if (/\/(?:api|demo|errors|changelog|benchmarks|playground-guide|docs|reference\/api[\w-]*)?(?:#|$)/.test(id))
        return 0.4;
      // It says what the words mean.
      return /\/(?:policies|algorithms)(?:#|$)/.test(id) ? 1.3 : 1;
    },
  },
};
