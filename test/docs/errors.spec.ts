import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { RateLimitConfigError } from 'nestjs-floodgate';
import ts from 'typescript';
import { ERROR_CODES, SITE, withHelp } from '../../libs/floodgate/src/util/error-codes.js';
import { problemOf } from './support/links.js';
import { readPage } from './support/markdown.js';
import { ROOT, textOf } from './support/pages.js';

const PACKAGES = ['libs/floodgate/src/', 'libs/nest/src/'];
const DECLARATION = 'util/error-codes.ts';

const page = readPage('docs/errors.md');
/** The code of both packages without their tests and the list of codes. */
const files = PACKAGES.flatMap((folder) =>
  readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts') && name !== DECLARATION)
    .map((name) => ({ name, text: textOf(`${folder}${name}`) })),
);

describe('docs/errors.md', () => {
  it('has a section for each code, and for no other', () => {
    expect(page.headings.filter((heading) => heading.startsWith('FG_')).toSorted()).toEqual(ERROR_CODES.toSorted());
  });

  it('has a section for each exported error', () => {
    const errors = Array.from(
      PACKAGES.map((folder) => textOf(`${folder}index.ts`))
        .join('')
        .matchAll(/\b(\w+(?:Error|ExceededException))\b/g),
      ([, name]) => name!,
    );
    expect(errors.length).toBeGreaterThan(4);
    const missing = errors.filter((name) => name !== 'RateLimitConfigError' && !page.headings.includes(name));
    expect(missing).toEqual([]);
  });
});

it('each text that the library logs as a warning or an error has a link', () => {
  const withoutLink = files.flatMap(({ name, text }) => {
    const found: string[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node) && /\.(warn|warnOnce|error)$/.test(node.expression.getText())) {
        const [message] = node.arguments;
        const isText = message !== undefined && (ts.isStringLiteralLike(message) || ts.isTemplateExpression(message));
        if (isText && /[a-z]/.test(message.getText().replaceAll(/\$\{[^}]*\}/g, ''))) found.push(name);
      }
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true));
    return found;
  });
  // A warning of a policy gets its link where the policy is bound.
  expect(withoutLink).toEqual(['algorithms/core/options.ts']);
});

describe('the links of messages', () => {
  const FOLDERS = [...PACKAGES, 'libs/client/src/', 'libs/migrate/src/', 'libs/nest/bin/', 'libs/nest/schematics/'];
  const packages = ['', 'libs/floodgate/', 'libs/nest/', 'libs/client/', 'libs/migrate/'];
  const home = (folder: string): string =>
    (JSON.parse(textOf(`${folder}package.json`)) as { homepage: string }).homepage;

  it('begin with the homepage of the repository, as those of its packages do', () => {
    expect(SITE).toBe(home(''));
    expect(packages.filter((folder) => !home(folder).startsWith(SITE))).toEqual([]);
    expect(packages.map((folder) => problemOf('', home(folder))).filter(Boolean)).toEqual([]);
  });

  it('lead to pages and anchors that there are', () => {
    const sources = FOLDERS.flatMap((folder) =>
      readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.[jt]s$/.test(name) && !name.endsWith('.spec.ts'))
        .map((name) => textOf(`${folder}${name}`)),
    );
    const links = sources.flatMap((text) =>
      Array.from(
        text
          .replaceAll(/\$\{(?:SITE|homepage)\}/g, SITE)
          .replaceAll(/'(https:[^']*)'/g, '$1 ')
          .matchAll(/https:\/\/(?:floodgate-nest\.github\.io|github\.com\/floodgate-nest)[^\s`)$]*/g),
        ([link]) => link.replace(/[.,:;#]$/, ''),
      ),
    );
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter((link) => !link.startsWith(SITE))).toEqual([]);
    expect(links.flatMap((link) => problemOf('', link) ?? [])).toEqual([]);
    // Those of the codes are made at run time.
    expect(ERROR_CODES.flatMap((code) => problemOf('', /see (\S+)\)$/.exec(withHelp('', code))![1]!) ?? [])).toEqual(
      [],
    );
  });
});

describe('the codes', () => {
  it('are all in use, and all that are used are declared', () => {
    const used = files.flatMap(({ text }) => Array.from(text.matchAll(/'(FG_\w+)'/g), ([, code]) => code!));
    expect([...new Set(used)].toSorted()).toEqual(ERROR_CODES.toSorted());
  });

  it('stand in an error as a property, and as the link at the end of its message', () => {
    const error = new RateLimitConfigError('Place', 'problem', 'FG_DECORATOR');
    expect(error.code).toBe('FG_DECORATOR');
    expect(error.message).toBe(`Place: problem (see ${SITE}errors#fg_decorator)`);
    expect(new RateLimitConfigError('Place', 'problem').code).toBe('FG_INVALID_OPTION');
  });
});
