import { describe, expect, it } from '@jest/globals';
import { UniqueNames } from './route.js';

describe('UniqueNames', () => {
  it('gives no name twice, not even where a text looks like a second name', () => {
    const names = new UniqueNames();
    const texts = ['A /x', 'A /x #2', 'A /x', 'A /x', 'A /x #2'];
    expect(texts.map((text) => names.name(text))).toEqual(['A /x', 'A /x #2', 'A /x #3', 'A /x #4', 'A /x #2 #2']);
  });
});
