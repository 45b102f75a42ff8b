// `npm run site` serves the site, and follows changes of its pages. `npm run site:build` writes it as static files.
//
//   SITE_BASE  the path below which the files are served: / or such as /floodgate/
//   SITE_OUT   the folder that is written; default site/dist
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, createServer } from 'vitepress';
import { optionsOf } from '../tools/command-line.js';
import { brokenLinks } from './build/check-site.js';
import { writeMarkdown } from './build/markdown-pages.js';
import { GENERATED, ROOT } from './build/pages.js';
import { shrinkPictures } from './build/pictures.js';
import { adoptPlayground } from './build/playground.js';
import { writeReference } from './build/reference.js';
import { writeSocial } from './build/social.js';

const builds = process.argv[2] === 'build';
if (builds) process.argv.splice(2, 1);
optionsOf(`npm run site${builds ? ':build' : ''}, with the environment variables SITE_BASE and SITE_OUT`);
const site = join(ROOT, 'site');
const { SITE_BASE: base = '/', SITE_OUT: out = join(site, 'dist') } = process.env;

await writeReference();
adoptPlayground();
copyFileSync(join(ROOT, 'demo/palette/icon.svg'), join(ROOT, GENERATED, 'public/icon.svg'));
await writeSocial();
if (builds) {
  await build(site);
  await shrinkPictures(out);
  writeMarkdown(out);
  const broken = brokenLinks(out, base);
  for (const line of broken) console.error(line);
  if (broken.length > 0) throw new Error(`${broken.length} links of the site lead nowhere`);
  console.log(`The site is in ${out}`);
} else {
  const server = await createServer(site);
  await server.listen();
  server.printUrls();
}
