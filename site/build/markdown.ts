import { dirname, join, relative } from 'node:path';
import { slug } from 'github-slugger';
import type { MarkdownEnv, MarkdownRenderer } from 'vitepress';
import { kindOf } from '../../test/docs/support/kinds.js';
import { readPage } from '../../test/docs/support/markdown.js';
import { moduleOf } from '../../test/docs/support/modules.js';
import type { Sample } from './hovers.js';
import { managersOf } from './managers.js';
import type { PictureSizes } from './pictures.js';
import { GENERATED, PLAYGROUND, ROOT, sitePages, targetOf } from './pages.js';

/** GitHub's anchors, so that the same links work there. */
export const slugify = (text: string): string => slug(text);

/** Languages of the pages that the highlighter has under no name. */
const PLAIN: Readonly<Record<string, string>> = { promql: 'text' };

/** Its command has one line's place. */
const LANDING = 'site/pages/index.md';

interface Env extends Partial<MarkdownEnv> {
  readonly realPath?: string;
  /** Whether the text goes into the index of the search, which needs no colours. */
  readonly isSearched?: boolean;
}

/** Renders the pages of docs/ as they are: their fenced blocks, links and pictures are written for GitHub and for the tests. */
export function useRepositoryMarkdown(md: MarkdownRenderer, base: string, sizes: PictureSizes): void {
  const pages = sitePages();
  md.core.ruler.push('repository', (state) => {
    const { realPath, path: given = '', isSearched = false } = state.env as Env;
    const path = relative(ROOT, realPath ?? given);
    for (const token of state.tokens as Token[]) {
      if (token.type === 'fence') token.info = isSearched ? '' : infoOf(token);
      if (token.type === 'html_block') token.content = withPictures(token.content, dirname(path), sizes);
      for (const child of token.children ?? []) {
        if (child.type !== 'link_open') continue;
        const target = targetOf(path, child.attrGet('href') ?? '', pages);
        if (target !== undefined) child.attrSet('href', target);
        // Without a target, VitePress looks for a page of its own; with one, it adds no base.
        if (target?.startsWith(PLAYGROUND) === true) {
          child.attrSet('href', `${base}${target.slice(1)}`);
          child.attrSet('target', '_self');
        }
      }
    }
    if (!isSearched && path !== LANDING) state.tokens = state.tokens.flatMap((token) => tabsOf(token, state.Token));
  });
}

type MarkdownToken = ReturnType<MarkdownRenderer['parse']>[number];

/** A block of `npm install` as tabs: VitePress's own markup of a code group, whose script changes the tab. */
function tabsOf(
  token: MarkdownToken,
  Token: new (type: string, tag: string, nesting: 0) => MarkdownToken,
): MarkdownToken[] {
  const managers = token.type === 'fence' && token.info === 'sh' ? managersOf(token.content) : undefined;
  if (managers === undefined) return [token];
  const group = `manager-${token.map![0]}`;
  const html = (content: string): MarkdownToken => Object.assign(new Token('html_block', '', 0), { content });
  const tabs = managers.map(({ name }, i) => {
    const id = `${group}-${name}`;
    return `<input type="radio" name="${group}" id="${id}"${i === 0 ? ' checked' : ''}><label for="${id}">${name}</label>`;
  });
  return [
    html(
      `<div class="vp-code-group"><div class="tabs" role="radiogroup" aria-label="Package manager">${tabs.join('')}</div><div class="blocks">`,
    ),
    ...managers.map(({ commands }, i) =>
      Object.assign(new Token('fence', 'code', 0), {
        info: i === 0 ? 'sh active' : 'sh',
        markup: token.markup,
        content: `${commands}\n`,
      }),
    ),
    html('</div></div>'),
  ];
}

interface Token {
  readonly type: string;
  info: string;
  content: string;
  readonly children: readonly Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

/** What stands behind a block's language is for the tests. */
function infoOf({ info }: Token): string {
  const lang = info.trim().split(/\s+/)[0]!;
  return PLAIN[lang] ?? lang;
}

/** The TypeScript blocks of the pages that are modules, or that the tests complete to modules. */
export function samplesOf(pages: Iterable<string>): Sample[] {
  return [...pages]
    .filter((path) => !path.startsWith(GENERATED))
    .flatMap((path) => readPage(path).fences)
    .flatMap((fence) => {
      const kind = kindOf(fence);
      if (fence.lang !== 'ts' || (kind.does !== 'module' && kind.does !== 'types' && kind.does !== 'spec')) return [];
      return [{ shown: fence.value, module: moduleOf(fence, kind.does === 'module' ? kind.frame : '') }];
    });
}

/** A reader chooses light or dark on the page, which `<source media>` cannot see. With its size a picture keeps its place before it comes. */
function withPictures(html: string, folder: string, sizes: PictureSizes): string {
  return html.replaceAll(
    /<picture>\s*<source[^>]*srcset="([^"]+)"[^>]*>\s*<img src="([^"]+)"([^>]*?)\/?>\s*<\/picture>/g,
    (_, dark: string, light: string, rest: string) =>
      [['light', light] as const, ['dark', dark] as const]
        .map(([name, src]) => {
          const size = sizes.get(join(folder, src));
          if (size === undefined) throw new Error(`${join(folder, src)} is no picture of docs/images`);
          return `<img class="only-${name}" src="./${src}" width="${size.width}" height="${size.height}" loading="lazy"${rest}/>`;
        })
        .join('\n'),
  );
}
