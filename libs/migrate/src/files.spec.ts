import { describe, expect, it } from '@jest/globals';
import { migrated, moduleOf, TEN } from '../test-support/migrated.js';
import { writeAll } from './files.js';

const PACKAGE = '{\n  "dependencies": {\n    "@nestjs/throttler": "^6.0.0"\n  }\n}\n';
const CONTROLLER = `import { SkipThrottle } from '@nestjs/throttler';
export class Cats {
  @SkipThrottle() // grüße
  list() {}
}
`;

const APP = { 'package.json': PACKAGE, 'app.module.ts': moduleOf(TEN), 'cats.ts': CONTROLLER };

describe('files', () => {
  it.each([
    ['line ends', (text: string) => text.replaceAll('\n', '\r\n')],
    ['byte order mark', (text: string) => `\uFEFF${text}`],
  ])('keep their %s', (_, other) => {
    const plain = migrated(APP);
    const changed = migrated(Object.fromEntries(Object.entries(APP).map(([name, text]) => [name, other(text)])));
    for (const [name, text] of Object.entries(plain.files)) expect(changed.files[name]).toBe(other(text));
  });

  it.each([
    ['Latin-1', Buffer.from(CONTROLLER, 'latin1')],
    ['UTF-16', Buffer.from(`\uFEFF${CONTROLLER}`, 'utf16le')],
    ['UTF-16 in the other order', Buffer.from(`\uFEFF${CONTROLLER}`, 'utf16le').swap16()],
  ])('in %s are a refusal that names them, and nothing is written', (_encoding, cats) => {
    const before = { ...APP, 'cats.ts': cats };
    const { bytes, printed, failed } = migrated(before);
    expect(failed).toBe('/cats.ts is not UTF-8: save it as UTF-8, then run again. No file was written.');
    expect(printed).toBe('');
    for (const [name, given] of Object.entries(before)) expect(bytes[name]).toEqual(Buffer.from(given));
  });

  it('that others need no change for may be in any encoding', () => {
    const legacy = 'export const name = "Grüße";\n';
    const { files } = migrated({
      ...APP,
      'latin.ts': Buffer.from(legacy, 'latin1'),
      'wide.ts': Buffer.from(`\uFEFF${legacy}`, 'utf16le'),
    });
    expect(files['cats.ts']).toContain('@SkipRateLimit()');
  });
});

describe('writing', () => {
  const files = ['a', 'b', 'c'].map((path) => ({ path, before: Buffer.from(`old ${path}`), after: `new ${path}` }));

  it('is all or nothing: what was written is put back when a file cannot be written', () => {
    const disk = new Map<string, string>();
    const write = (path: string, content: string | Buffer): void => {
      if (path === 'c') throw new Error('EACCES: permission denied');
      disk.set(path, String(content));
    };
    expect(() => writeAll(files, write)).toThrow(
      'c cannot be written (EACCES: permission denied). No file was written.',
    );
    expect(Object.fromEntries(disk)).toEqual({ a: 'old a', b: 'old b' });
  });
});
