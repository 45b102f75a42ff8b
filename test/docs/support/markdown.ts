import GithubSlugger from 'github-slugger';
import type { Node } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { toString } from 'mdast-util-to-string';
import { visit } from 'unist-util-visit';
import { textOf } from './pages.js';

/** A fenced block, or a hidden program (`<!-- run ... -->`), with the hidden code around it. */
export interface Fence {
  readonly page: string;
  readonly line: number;
  /** `hidden` for a hidden program. */
  readonly lang: string;
  /** What stands behind the language. */
  readonly meta: string;
  readonly value: string;
  /** The code of `<!-- before ... -->` in front of it and of `<!-- after ... -->` behind it. */
  before: string;
  after: string;
}

export interface Link {
  readonly line: number;
  readonly url: string;
}

export interface Page {
  readonly path: string;
  readonly fences: readonly Fence[];
  readonly links: readonly Link[];
  /** The anchors of its headings, as GitHub makes them. */
  readonly anchors: ReadonlySet<string>;
  /** The text of its headings. */
  readonly headings: readonly string[];
}

const HIDDEN = /^<!--\s*(\w+)\b([^]*?)-->$/;
/** Comments that other tools write and read. */
const FOREIGN = new Set(['support', 'prettier']);

export function readPage(path: string): Page {
  const fences: Fence[] = [];
  const links: Link[] = [];
  const anchors = new Set<string>();
  const headings: string[] = [];
  const slugger = new GithubSlugger();
  let before = '';
  visit(fromMarkdown(textOf(path)), (node) => {
    const line = lineOf(node);
    if (node.type === 'code') {
      const { lang, meta, value } = node;
      fences.push({ page: path, line, lang: lang ?? '', meta: meta ?? '', value, before, after: '' });
      before = '';
    } else if (node.type === 'html') {
      before += hidden(node.value, path, line, fences);
      for (const [, anchor] of node.value.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(anchor!);
      for (const [, url] of node.value.matchAll(/ (?:src|srcset|href)="([^"]+)"/g)) links.push({ line, url: url! });
    } else if (node.type === 'heading') {
      const text = toString(node);
      headings.push(text);
      anchors.add(slugger.slug(text));
    } else if (node.type === 'link' || node.type === 'definition' || node.type === 'image') {
      links.push({ line, url: node.url });
    }
  });
  if (before !== '') throw new Error(`${path}: a "before" comment stands in front of no snippet`);
  return { path, fences, links, anchors, headings };
}

/** Keeps an `after` or a `run`, and returns the code of a `before`. An unknown word is an error: its code would never run. */
function hidden(comment: string, page: string, line: number, fences: Fence[]): string {
  const [, word, code = ''] = HIDDEN.exec(comment.trim()) ?? [];
  if (word === undefined || FOREIGN.has(word)) return '';
  if (word === 'before') return `${code}\n`;
  if (word === 'run') {
    fences.push({ page, line, lang: 'hidden', meta: '', value: code, before: '', after: '' });
    return '';
  }
  const last = fences.at(-1);
  if (word !== 'after' || last === undefined) {
    throw new Error(
      `${page}:${line}: a comment begins with "${word}"; right are before, after, run, support and prettier`,
    );
  }
  last.after += `${code}\n`;
  return '';
}

function lineOf({ position }: Node): number {
  return position?.start.line ?? 0;
}
