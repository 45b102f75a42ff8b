// `npm run skill`: writes the skill that coding assistants read, of the pages, whose samples the tests run.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, posix } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { optionsOf } from './command-line.js';

const ROOT = new URL('../', import.meta.url);
const REPOSITORY = 'https://github.com/floodgate-nest/floodgate/blob/main/';

/** In the package of the Nest module. https://agentskills.io/specification */
export const SKILL = new URL('libs/nest/skills/nestjs-floodgate/SKILL.md', ROOT);

const HEAD = `---
name: nestjs-floodgate
description: Add, choose, migrate and debug rate limits in a NestJS application with nestjs-floodgate. Use it for @RateLimit, RateLimitModule, 429 answers, and for replacing @nestjs/throttler.
---

# Rate limits with nestjs-floodgate
`;

/** A title, and the sections of pages that it has, each to the next heading of its rank or above; without a heading, what stands before the first one. */
const PARTS: readonly (readonly [title: string, ...sections: readonly (readonly [page: string, heading: string])[]])[] =
  [
    ['Add a limit', ['README.md', '## Two minutes to a 429'], ['docs/policies.md', '']],
    ['Say who is counted', ['README.md', '## Who is counted']],
    ['Choose an algorithm', ['docs/policies.md', '## Choose an algorithm']],
    ['Read a 429', ['docs/http.md', '## Bodies'], ['docs/http.md', "### `'x-ratelimit'`"]],
    ['Find out why a client got a 429', ['docs/recipe-why-429.md', '']],
    ['Migrate from @nestjs/throttler', ['docs/migration.md', ''], ['docs/migration.md', '## Run the codemod']],
    ['Test it', ['docs/testing.md', '']],
  ];

/** The skill as the pages have it now. */
export function skillText(): string {
  const parts = PARTS.map(([title, ...sections]) => {
    const texts = sections.map(([page, heading]) => sectionOf(page, heading));
    const pages = [...new Set(sections.map(([page]) => page))].map((page) => `[${page}](${REPOSITORY}${page})`);
    return `## ${title}\n\n${texts.join('\n\n')}\n\nMore: ${pages.join(', ')}\n`;
  });
  return [HEAD, ...parts].join('\n');
}

function sectionOf(page: string, heading: string): string {
  const text = readFileSync(new URL(page, ROOT), 'utf8').replaceAll(/<!--[^]*?-->\n*/g, '');
  const start = heading === '' ? text.indexOf('\n') : text.indexOf(`${heading}\n`) + heading.length;
  if (start < heading.length) throw new Error(`${page} has no heading ${heading}`);
  const rank = heading === '' ? 6 : heading.indexOf(' ');
  const end = text.slice(start).search(new RegExp(`^#{1,${rank}} `, 'm'));
  const section = end < 0 ? text.slice(start) : text.slice(start, start + end);
  return section
    .replaceAll(/^(```+\w*)[^\n`]*$/gm, '$1') // what tells the tests how to run a sample
    .replaceAll(/^#+ /gm, '### ')
    .replaceAll(/\]\(([^)]*)\)/g, (_, link: string) => `](${absolute(page, link)})`)
    .trim();
}

function absolute(page: string, link: string): string {
  if (/^https?:/.test(link)) return link;
  if (link.startsWith('#')) return `${REPOSITORY}${page}${link}`;
  return `${REPOSITORY}${posix.join(dirname(page), link)}`;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  optionsOf('npm run skill');
  writeFileSync(SKILL, skillText());
  console.log(`wrote ${fileURLToPath(SKILL)}`);
}
