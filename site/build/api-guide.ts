// `npm run api`: writes docs/api.md of the types and docstrings: what most code calls, reads and catches. `site/build/reference.ts`
// reads them, and makes the pages of every export of the same.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';
import { cached } from './cache.js';
import { ORIGIN, ROOT } from './pages.js';
import { declarations, exportsOf, isHidden, kindOf, MAIN, prose, resolved } from './reference.js';
import { optionsOf } from '../../tools/command-line.js';

export const API_PAGE = 'docs/api.md';
const PAGE_TEST = 'test/docs/api.spec.ts';
const FENCE = `\`\`\`ts checked=${PAGE_TEST}`;
/** Code of this width fits the column of the site. */
const WIDTH = 88;

const INTRO = `# API

What most code calls, reads and catches. It comes from \`nestjs-floodgate\`; without Nest from \`floodgate\`, except the names that end in
\`Exception\`. The module provides \`RateLimiter\`: inject it. The site has [every export](${ORIGIN}reference/api) and [the module's options](${ORIGIN}reference/module-options).

<!-- prettier: \`npm run api\` writes this page of the docstrings. Change them instead. -->`;

/** A sample of the page, and the name that it is of. */
export interface ApiSample {
  readonly of: string;
  readonly code: string;
}

interface Guide {
  readonly text: string;
  readonly samples: readonly ApiSample[];
}

/** The page as the code has it now, and its samples. */
export async function apiGuide(): Promise<Guide> {
  const { text, samples } = cached('api-guide', INTRO, guide);
  const options = await resolveConfig(join(ROOT, API_PAGE));
  const formatted = await format(text, { ...options, parser: 'markdown' });
  // A signature is no statement, so prettier formats a sample only in a block of its own.
  return { text: formatted.replaceAll(`\n\`\`\`\n\n${FENCE}\n`, '\n\n'), samples };
}

function guide(): Guide {
  const program = declarations();
  const checker = program.getTypeChecker();
  const symbols = new Map(
    exportsOf(MAIN, program, checker).map((symbol) => [symbol.name, resolved(symbol, checker)] as const),
  );
  const samples: ApiSample[] = [];
  const errors = [...symbols].filter(([, symbol]) => kindOf(symbol) === 'Errors').map(([name]) => name);
  const parts = [
    functionPart('createLimiter', '##'),
    classPart('RateLimiter'),
    ...['Decision', 'PolicyDecision'].map(typePart),
    '## Errors',
    'The guard turns a `LimiterUnavailableError` into a 503. [Errors](errors.md) says what to do about each message.',
    errors.toSorted().map(errorPart).join('\n'),
    fence(samples.find(({ of }) => of === 'LimiterUnavailableError')!.code),
  ];
  return { text: [INTRO, ...parts].join('\n\n'), samples };

  function declarationsOf(name: string): readonly ts.Declaration[] {
    const found = symbols.get(name)?.declarations;
    if (found === undefined) throw new Error(`${MAIN.name} exports no ${name}`);
    return found;
  }

  function functionPart(name: string, rank: string): string {
    const node = declarationsOf(name).find(ts.isFunctionDeclaration)!;
    return [`${rank} ${name}`, firstSentence(node), signature(name, node), fence(sample(name, node))].join('\n\n');
  }

  /** A class with a heading for each method. */
  function classPart(name: string): string {
    const node = declarationsOf(name).find(ts.isClassDeclaration)!;
    const methods = node.members.filter(ts.isMethodDeclaration).filter((one) => !isHidden(one));
    const written = [...new Set(methods.map((one) => one.name.getText()))].map((method) => {
      const overloads = methods.filter((one) => one.name.getText() === method);
      // The others are short forms of the one that takes all.
      const full = overloads.reduce((most, one) => (one.parameters.length > most.parameters.length ? one : most));
      const code = sample(`${name}.${method}`, full);
      // Without parameters and without a result, a call has nothing to show.
      const shown = code === `await limiter.${method}();` ? [] : [fence(code)];
      return [`### ${method}`, firstSentence(full), signature(method, full), ...shown].join('\n\n');
    });
    return [`## ${name}`, firstSentence(node), ...written].join('\n\n');
  }

  function typePart(name: string): string {
    const node = declarationsOf(name).find(ts.isInterfaceDeclaration)!;
    const fields = node.members.filter(ts.isPropertySignature).map((member) => {
      const type = member
        .type!.getText()
        .replaceAll(/\s+/g, ' ')
        .replace(/^readonly /, '');
      const optional = member.questionToken ? '?' : '';
      return `- \`${member.name.getText()}${optional}: ${type}\`: ${firstSentence(member)}`;
    });
    return [`## ${name}`, firstSentence(node), fields.join('\n'), fence(sample(name, node))].join('\n\n');
  }

  function errorPart(name: string): string {
    const node = declarationsOf(name).find(ts.isClassDeclaration)!;
    const [base] = node.heritageClauses ?? [];
    const fields = [...node.members.filter(ts.isPropertyDeclaration), ...parametersOf(node)]
      .filter((one) => !isHidden(one) && one.name.getText() !== 'name' && !isStatic(one))
      .map((one) => one.name.getText());
    sample(name, node);
    const members = fields.length === 0 ? '' : ` { ${fields.join(', ')} }`;
    const parent = base?.getText() === 'extends Error' ? '' : ` ${base?.getText() ?? ''}`;
    return `- \`${name}${parent}${members}\`: ${firstSentence(node)}`;
  }

  /** The example of a docstring, which the test compiles also where the page does not show it. */
  function sample(of: string, node: ts.Node): string {
    const tag = ts.getJSDocTags(node).find(({ tagName }) => tagName.text === 'example');
    const code = textOf(tag?.comment)
      .replaceAll(/^```\w*\n|\n```$/g, '')
      .trim();
    if (code === '') throw new Error(`the docstring of ${of} has no @example`);
    samples.push({ of, code });
    return code;
  }
}

const isStatic = (node: ts.HasModifiers): boolean =>
  ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword) === true;

/** The parameters of a constructor that are members. A declaration has them as properties, so that there may be none. */
function parametersOf(node: ts.ClassDeclaration): ts.ParameterDeclaration[] {
  return node.members
    .filter(ts.isConstructorDeclaration)
    .flatMap(({ parameters }) => parameters.filter((one) => ts.isParameterPropertyDeclaration(one, one.parent)));
}

const fence = (code: string): string => `${FENCE}\n${code}\n\`\`\``;

const textOf = (comment: ts.JSDoc['comment']): string =>
  ts.getTextOfJSDocComment(comment)?.replaceAll('\\@', '@') ?? '';

/** What a docstring says first. */
function firstSentence(node: ts.Node): string {
  const doc = ts.getJSDocCommentsAndTags(node).find(ts.isJSDoc);
  const text = textOf(doc?.comment).replaceAll(/\s+/g, ' ');
  if (text === '') return '';
  return prose(/^.*?[.](?= [A-Z`]|$)/.exec(text)?.[0] ?? text).replaceAll('](/docs/', '](');
}

/** A parameter a line, where they do not fit one. */
function signature(name: string, node: ts.FunctionDeclaration | ts.MethodDeclaration): string {
  const generics =
    node.typeParameters === undefined ? '' : `<${node.typeParameters.map((one) => one.getText()).join(', ')}>`;
  const parameters = node.parameters.map((one) => one.getText().replaceAll(/\s+/g, ' '));
  const result = node.type?.getText() ?? 'void';
  const line = `${name}${generics}(${parameters.join(', ')}): ${result}`;
  if (line.length <= WIDTH) return fence(line);
  return fence(`${name}${generics}(\n${parameters.map((one) => `  ${one},\n`).join('')}): ${result}`);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  optionsOf('npm run api');
  const { text } = await apiGuide();
  writeFileSync(join(ROOT, API_PAGE), text);
  console.log(`wrote ${API_PAGE}`);
}
