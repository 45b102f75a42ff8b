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

const crlf = (text: string): string => text.replaceAll('\n', '\r\n');
const APP = { 'package.json': PACKAGE, 'app.module.ts': moduleOf(TEN), 'cats.ts': CONTROLLER };

describe('files', () => {
  it('keep their line ends', () => {
    const unix = migrated(APP);
    const windows = migrated(Object.fromEntries(Object.entries(APP).map(([name, text]) => [name, crlf(text)])));
    for (const [name, text] of Object.entries(unix.files)) expect(windows.files[name]).toBe(crlf(text));
  });

  it('keep their byte order mark', () => {
    const plain = migrated(APP);
    const marked = migrated(Object.fromEntries(Object.entries(APP).map(([name, text]) => [name, `\uFEFF${text}`])));
    for (const [name, text] of Object.entries(plain.files)) expect(marked.files[name]).toBe(`\uFEFF${text}`);
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
