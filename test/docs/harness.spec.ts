import { describe, expect, it } from '@jest/globals';
import { expectBurst, expectLogged, expectQuoted, expectShown } from './support/compare.js';
import { kindOf } from './support/kinds.js';
import type { Fence } from './support/markdown.js';
import { unknownCommands } from './support/shell.js';

// What the documentation's tests must not let through.

const fence = (info: string, value = ''): Fence => {
  const [lang = '', ...meta] = info.split(' ');
  return { page: 'docs/page.md', line: 7, lang, meta: meta.join(' '), value, before: '', after: '' };
};

/** How the message of a matcher begins. */
const DIFFERENT = /^(?:.\[\d+m)*expect/;

describe('the annotation of a block', () => {
  it.each([
    ['', 'no test looks at'],
    ['js', 'no test looks at'],
    ['text', 'no test looks at'],
    ['ts runs', 'no test looks at'],
    ['ts types', 'no test looks at'],
    ['ts example=because', 'no test looks at'],
    ['ts module route', 'is unknown'],
    ['ts check=missing', 'there is no'],
    ['json checked=test/docs/missing.spec.ts', 'there is no test'],
    ['json checked=test/docs/links.spec.ts', 'does not mention docs/page.md'],
    ['sh runs', 'no test looks at'],
  ])('"%s" is refused: %s', (info, problem) => {
    expect(kindOf(fence(info))).toEqual({ does: 'fail', problem: expect.stringContaining(problem) });
  });

  it('may name a test that mentions the page', () => {
    expect(kindOf(fence('json checked=test/docs/harness.spec.ts'))).toEqual({ does: 'nothing' });
  });

  it('refuses curl that is not run', () => {
    expect(kindOf(fence('sh', 'curl -s http://localhost:3000')).does).toBe('fail');
    expect(kindOf(fence('sh run', 'curl -s http://localhost:3000')).does).toBe('shell');
  });

  it('knows files of tests by their name', () => {
    expect(kindOf(fence('ts', '// a.spec.ts\ntest();')).does).toBe('spec');
    expect(kindOf(fence('ts', '// a.module.ts\nclass A {}')).does).toBe('module');
  });
});

describe('an answer', () => {
  const BODY = '{"statusCode":429,"retry_after":36,"retry_after_ms":35417.2}';
  const HEAD = 'HTTP/1.1 429 Too Many Requests\nRetry-After: 36';

  it('may differ in instants and waits only', () => {
    expectShown(fence('json answer', BODY), BODY.replace('35417.2', '3.4'));
    expect(() => expectShown(fence('json answer', BODY), BODY.replace('429', '503'))).toThrow(DIFFERENT);
    expect(() => expectShown(fence('json answer', BODY), BODY.replace('36', 'null'))).toThrow(DIFFERENT);
    expect(() => expectShown(fence('text answer', 'passes 20'), 'passes 21')).toThrow(DIFFERENT);
  });

  it('may leave out headers, but shows the real status, values and body', () => {
    const shown = fence('http answer', `${HEAD}\n\n${BODY}`);
    expectShown(shown, `${HEAD}\r\nDate: now\r\n\r\n${BODY}`);
    expect(() => expectShown(shown, `${HEAD.replace('429', '200')}\n\n${BODY}`)).toThrow(DIFFERENT);
    expect(() => expectShown(shown, `HTTP/1.1 429 Too Many Requests\n\n${BODY}`)).toThrow(DIFFERENT);
    expect(() => expectShown(shown, `${HEAD}\n\n{}`)).toThrow(DIFFERENT);
  });

  it('of a burst may contain what was refilled meanwhile, and no more', () => {
    const shown = fence('text answer', ' 20 200\n  5 429');
    expectBurst(shown, '22 200\n3 429', 10, 200);
    expect(() => expectBurst(shown, '23 200\n2 429', 10, 200)).toThrow(DIFFERENT);
    expect(() => expectBurst(shown, '19 200\n6 429', 10, 200)).toThrow(DIFFERENT);
    expect(() => expectBurst(shown, '20 200\n4 429', 10, 200)).toThrow(DIFFERENT);
  });

  it('in a log and in a file stands there', () => {
    expectLogged(fence('text log', 'Limits are kept ...'), 'log Limits are kept in Redis');
    expect(() => expectLogged(fence('text log', 'Limits are kept in files'), 'Limits are kept in Redis')).toThrow(
      DIFFERENT,
    );
    expectQuoted(fence('ts', '// a.ts\nconst a = 1; // one'), 'const a = 1;');
    expect(() => expectQuoted(fence('ts', 'const a = 2;'), 'const a = 1;')).toThrow(DIFFERENT);
  });
});

it('commands name programs and scripts that exist', () => {
  expect(unknownCommands('npm ci && npm run setup && PORT=1 npm start & # and more\nredis-server --save ""')).toEqual(
    [],
  );
  expect(unknownCommands('npm run nothing\nnmp ci | sort')).toEqual(['npm run nothing', 'nmp ci']);
});
