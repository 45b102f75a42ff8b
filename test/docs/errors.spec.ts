import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { RateLimitConfigError } from 'nestjs-floodgate';
import ts from 'typescript';
import { ERROR_CODES, ERRORS_PAGE, withHelp } from '../../libs/rate-limit/src/util/error-codes.js';
import { readPage } from './support/markdown.js';
import { ROOT, textOf } from './support/pages.js';

const LIBRARY = 'libs/rate-limit/src/';
const DECLARATION = 'util/error-codes.ts';

const page = readPage('docs/errors.md');
/** The code of the library without its tests and the list of codes. */
const files = readdirSync(`${ROOT}${LIBRARY}`, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts') && name !== DECLARATION)
  .map((name) => ({ name, text: textOf(`${LIBRARY}${name}`) }));
const source = files.map(({ text }) => text).join('\n');

describe('docs/errors.md', () => {
  it('has a section for each code, and for no other', () => {
    expect(page.headings.filter((heading) => heading.startsWith('FG_')).toSorted()).toEqual(ERROR_CODES.toSorted());
  });

  it('has the anchors that messages link to', () => {
    const linked = ERROR_CODES.map((code) => /#(\w+)\)$/.exec(withHelp('', code))?.[1]);
    expect(linked.filter((anchor) => anchor === undefined || !page.anchors.has(anchor))).toEqual([]);
    expect(ERRORS_PAGE).toMatch(/\/blob\/main\/docs\/errors\.md$/);
  });

  it('has a section for each exported error', () => {
    const errors = Array.from(
      textOf(`${LIBRARY}index.ts`).matchAll(/\b(\w+(?:Error|ExceededException))\b/g),
      ([, name]) => name!,
    );
    expect(errors.length).toBeGreaterThan(4);
    const missing = errors.filter((name) => name !== 'RateLimitConfigError' && !page.headings.includes(name));
    expect(missing).toEqual([]);
  });
});

/** Calls that pass on a message that has its link already, or an error of the application. */
const PASSED_ON = [
  // Warnings of a policy: where the policy is bound, the link is added.
  'algorithms/options.ts: options.warn( `${option} is rounded down to ${rate.tokens} per ${rate.microseconds} microseconds, to be counted exactly`, )',
  'algorithms/options.ts: options.warn(shortWindow(given))',
  'engine/calls/call-policies.ts: this.logger.warn(message)',
  // The message of an error that has its link.
  'nest/admin/openapi.ts: new RateLimitLogger().warn(`RateLimitAdminModule: its endpoints are not described for ${message}`)',
  // What a hook of the application throws.
  'nest/guard/before-routing.ts: new RateLimitLogger().error(error)',
  'engine/calls/call-policies.ts: this.warnOnce(conflict)',
  'nest/module/assembled-runtime.ts: logger.warn(message)',
  'nest/module/assembled-runtime.ts: this.logger.warn(warning)',
  'nest/routes/route-policies.ts: this.logger.warn(message)',
  'nest/routes/route-policies.ts: this.warnOnce(conflict)',
  'stores/redis/connection/state-log.ts: this.logger.warn(`${message}${more}`)',
  'util/rationed-warning.ts: this.logger.warn(`${message}${more}`)',
  'nest/guard/rate-limit-exception.filter.ts: new RateLimitLogger().error(error)',
  'nest/guard/rate-limit.gateways.ts: this.logger.error(error)',
  'nest/guard/rate-limit.gateways.ts: this.logger.error(failure)',
];

/** The warnings and errors that the library logs without a link. */
function withoutLink(): string[] {
  return files.flatMap(({ name, text }) => {
    const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
    const found: string[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node) && /\.(warn|warnOnce|error)$/.test(node.expression.getText(file))) {
        const [message] = node.arguments;
        const isLinked =
          message !== undefined && ts.isCallExpression(message) && message.expression.getText(file) === 'withHelp';
        if (!isLinked) found.push(`${name}: ${node.getText(file).replaceAll(/\s+/g, ' ')}`);
      }
      ts.forEachChild(node, visit);
    };
    visit(file);
    return found;
  });
}

it('each warning and error in the log has a link, but those of others', () => {
  expect(withoutLink().toSorted()).toEqual(PASSED_ON.toSorted());
});

describe('the codes', () => {
  it('are all in use, and all that are used are declared', () => {
    const used = Array.from(source.matchAll(/'(FG_\w+)'/g), ([, code]) => code!);
    // The default of an error that names none.
    expect([...new Set(used)].toSorted()).toEqual(ERROR_CODES.toSorted());
  });

  it('stand in an error as a property, and as the link at the end of its message', () => {
    const error = new RateLimitConfigError('Place', 'problem', 'FG_DECORATOR');
    expect(error.code).toBe('FG_DECORATOR');
    expect(error.message).toBe(`Place: problem (see ${ERRORS_PAGE}#fg_decorator)`);
    expect(new RateLimitConfigError('Place', 'problem').code).toBe('FG_CONFIGURATION');
  });
});
