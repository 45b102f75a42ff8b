import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { publicApis } from '../../tools/public-api.js';

it('the public API of each package is the one that is written down: npm run public-api', () => {
  const apis = publicApis();
  expect(apis.size).toBeGreaterThan(1);
  for (const [file, text] of apis) {
    const written = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
    expect({ file, text }).toEqual({ file, text: written });
  }
});
