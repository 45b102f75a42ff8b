import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';
import { defineConfig } from 'vitest/config';

const LIBS = fileURLToPath(new URL('../../../libs/', import.meta.url));

/** Decorators with metadata, as `nest new` sets Vitest up. */
const decorators = {
  name: 'decorators',
  enforce: 'pre',
  async transform(source, id) {
    if (!id.endsWith('.ts')) return undefined;
    const { code, map } = await transform(source, {
      jsc: {
        target: 'es2023',
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
        keepClassNames: true,
      },
      module: { type: 'es6' },
      sourceMaps: true,
      filename: id,
      swcrc: false,
    });
    return { code, map };
  },
};

export default defineConfig({
  plugins: [decorators],
  resolve: {
    alias: [
      { find: /^nestjs-floodgate$/, replacement: `${LIBS}nest/src/index.ts` },
      { find: /^nestjs-floodgate\/(testing|throttler)$/, replacement: `${LIBS}nest/src/$1.ts` },
      { find: /^floodgate$/, replacement: `${LIBS}floodgate/src/index.ts` },
      { find: /^floodgate\/([\w-]+)$/, replacement: `${LIBS}floodgate/src/$1.ts` },
    ],
  },
  test: { include: ['test/testing-kit/runners/*.vitest.ts'], cache: false, reporters: ['json'] },
});
