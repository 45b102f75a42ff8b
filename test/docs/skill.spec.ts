import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { SKILL, skillText } from '../../tools/skill.js';

const skill = readFileSync(SKILL, 'utf8');

it('the skill of the package is made of the pages as they are: npm run skill', () => {
  expect(skill).toBe(skillText());
});

it('the skill is one that an assistant can load: a name, a description, and no link that is relative', () => {
  expect(skill).toMatch(/^---\nname: nestjs-floodgate\ndescription: .{50,1024}\n---\n/);
  const links = Array.from(skill.matchAll(/\]\(([^)]*)\)/g), ([, link]) => link!);
  expect(links.filter((link) => !link.startsWith('https://'))).toEqual([]);
  expect(skill.split('\n').length).toBeLessThan(500);
});
