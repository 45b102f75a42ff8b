import { existsSync } from 'node:fs';
import type { Fence } from './markdown.js';
import { isSpec } from './modules.js';
import { ROOT, textOf } from './pages.js';

/** What the tests do with a fenced block. */
export type Kind =
  /** A TypeScript module, or a fragment that a frame completes: it is type-checked and run. */
  | { readonly does: 'module'; readonly frame: Frame; readonly check?: string | undefined }
  /** A file of tests: Jest runs it, in a process of its own. */
  | { readonly does: 'spec' }
  /** Type-checked only; says why it is not run. */
  | { readonly does: 'types' }
  /** Shell commands: their programs and npm scripts have to exist. */
  | { readonly does: 'commands' }
  /** Shell commands that are run against an application. */
  | { readonly does: 'shell'; readonly against: 'page' | 'demo' }
  /** What the block before prints. */
  | { readonly does: 'answer' }
  /** Lines in the log of the application before. */
  | { readonly does: 'log' }
  /** Lines of a file of the repository. */
  | { readonly does: 'quote'; readonly file: string }
  /** Something that another test compares, or an example of which the page says why it is not run. */
  | { readonly does: 'nothing' }
  /** An annotation that says nothing known: no test would look at the block. */
  | { readonly does: 'fail'; readonly problem: string };

export const FRAMES = ['', 'module', 'route', 'limiter'] as const;
export type Frame = (typeof FRAMES)[number];

const RIGHT = `test/docs/README.md lists the annotations`;

export function kindOf(fence: Fence): Kind {
  const { page, line, lang, meta } = fence;
  const refuse = (problem: string): Kind => ({ does: 'fail', problem: `${page}:${line}: ${problem}. ${RIGHT}` });
  // A check of its own stands behind the annotation of a module.
  const [, annotation = '', check] = /^(.*?) ?(?:\bcheck=([\w-]+))?$/.exec(meta) ?? [];
  const [, word, quoted, bare] = /^(\w+)(?:=(?:"([^"]+)"|(\S+)))?$/.exec(annotation) ?? [];
  if (annotation !== '' && word === undefined) return refuse(`the annotation "${annotation}" is unknown`);
  if (check !== undefined && !existsSync(checkFile(check))) return refuse(`there is no ${checkFile(check)}`);
  if (check !== undefined && lang !== 'ts') return refuse('only TypeScript has a check');
  const value = quoted ?? bare;

  if (lang === 'hidden') return { does: 'module', frame: '' };
  if (word === 'quote' && value !== undefined) return { does: 'quote', file: value };
  if (word === 'example' && quoted !== undefined) return { does: 'nothing' };
  if (word === 'checked' && bare !== undefined) return checkedElsewhere(bare, page, refuse);
  if (lang === 'ts') {
    if (word === 'types' && quoted !== undefined) return { does: 'types' };
    if (annotation === '' && check === undefined && isSpec(fence)) return { does: 'spec' };
    if (value === undefined && isFrame(word ?? '')) return { does: 'module', frame: (word ?? '') as Frame, check };
  }
  if (lang === 'sh') {
    if (word === 'run') return { does: 'shell', against: 'page' };
    if (word === 'demo') return { does: 'shell', against: 'demo' };
    if (word === undefined) {
      if (fence.value.includes('curl ')) return refuse('curl has to be run: write "sh run" or "sh demo"');
      return { does: 'commands' };
    }
  }
  if (['text', 'json', 'http'].includes(lang)) {
    if (word === 'answer') return { does: 'answer' };
    if (word === 'log') return { does: 'log' };
  }
  return refuse(`no test looks at a block "${[lang, meta].filter(Boolean).join(' ')}"`);
}

/** What a snippet is asked once it is booted. */
export function checkFile(check: string): string {
  return `${ROOT}test/docs/checks/${check}.ts`;
}

function isFrame(word: string): boolean {
  return (FRAMES as readonly string[]).includes(word);
}

function checkedElsewhere(test: string, page: string, refuse: (problem: string) => Kind): Kind {
  if (!existsSync(`${ROOT}${test}`)) return refuse(`there is no test ${test}`);
  if (!textOf(test).includes(page)) return refuse(`${test} does not mention ${page}`);
  return { does: 'nothing' };
}
