import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type HeadConfig } from 'vitepress';
import { GENERATED, neighboursOf, ORIGIN, PLAYGROUND, REPOSITORY, ROOT, SIDEBAR, sitePages } from '../build/pages.js';
import { samplesOf, slugify, useRepositoryMarkdown } from '../build/markdown.js';
import { byClass } from '../build/dark.js';
import { pictureSizes } from '../build/pictures.js';
import { playground, sources } from '../build/vite-plugins.js';
import { hoversOf } from '../build/hovers.js';
import { MINI_SEARCH, searchedText } from '../build/search.js';
import { descriptionOf, socialHead } from '../build/social.js';

const site = join(ROOT, 'site');
const pages = sitePages();
const sizes = await pictureSizes();
const base = process.env['SITE_BASE'] ?? '/';
const description = 'Rate limiting for NestJS that holds across every pod';

/** Everything that is no page. */
const notPages = readdirSync(ROOT, { withFileTypes: true })
  .filter(({ name }) => !['docs', 'examples', 'site', 'CHANGELOG.md'].includes(name))
  .map((entry) => (entry.isDirectory() ? `${entry.name}/**` : entry.name));

export default defineConfig({
  title: 'Floodgate',
  description,
  lang: 'en',
  base,
  // The pages stay where GitHub and the tests read them.
  srcDir: ROOT,
  srcExclude: [...notPages, 'docs/*/**', 'examples/*/**', 'site/*.md', 'site/!(pages|generated)/**'],
  rewrites: Object.fromEntries([...pages].map(([path, address]) => [path, `${address}.md`])),
  outDir: process.env['SITE_OUT'] ?? join(site, 'dist'),
  cacheDir: join(site, '.vitepress/cache'),
  cleanUrls: true,
  metaChunk: true,
  // It would load every page that the sidebar links, some of a hundred kilobytes, with the first one.
  router: { prefetchLinks: false },
  // `checkSite` looks at every link of what was built, with its anchor.
  ignoreDeadLinks: [/^https?:\/\/localhost/, /^\/playground\//],
  head: [['link', { rel: 'icon', href: `${base}icon.svg`, type: 'image/svg+xml' }]],
  sitemap: { hostname: ORIGIN },
  transformPageData: ({ filePath, frontmatter }) => ({
    description: descriptionOf(filePath) ?? description,
    frontmatter: { ...neighboursOf(pages.get(filePath) ?? ''), ...frontmatter },
  }),
  transformHead: ({ assets, pageData }) => [
    ...assets
      .filter((path) => path.endsWith('.woff2'))
      .map((href): HeadConfig => ['link', { rel: 'preload', href, as: 'font', type: 'font/woff2', crossorigin: '' }]),
    ...socialHead(pageData, description),
  ],
  markdown: {
    // VitePress's own themes have contrasts of 3.5 in names and comments.
    theme: { light: 'github-light-default', dark: 'github-dark-default' },
    anchor: { slugify },
    languages: ['ts', 'js', 'sh', 'json', 'http', 'text', 'yaml'].filter((name) => name !== 'text') as never,
    config: (md) => useRepositoryMarkdown(md, base, sizes),
    codeTransformers: [hoversOf(samplesOf(pages.keys())) as never],
  },
  themeConfig: {
    logo: '/icon.svg',
    nav: [
      { text: 'Start', link: '/quick-start', activeMatch: '^/(quick-start|installation|recipes)' },
      { text: 'Docs', link: '/docs', activeMatch: '^/docs' },
      { text: 'Playground', link: PLAYGROUND, target: '_self' },
      { text: 'Benchmarks', link: '/benchmarks' },
      { text: 'Reference', link: '/reference/module-options', activeMatch: '^/reference/' },
    ],
    sidebar: SIDEBAR as never,
    outline: { level: [2, 3] },
    search: { provider: 'local', options: { detailedView: false, miniSearch: MINI_SEARCH, _render: searchedText } },
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    editLink: {
      pattern: `${REPOSITORY}/edit/main/:path`,
      text: 'Edit this page',
    },
    footer: { message: 'MIT licence' },
  },
  vite: {
    publicDir: join(ROOT, GENERATED, 'public'),
    css: { postcss: { plugins: [byClass] } },
    plugins: [sources, playground],
    server: { fs: { allow: [ROOT] } },
    // By default the development server reads every HTML file of the project for what the site imports.
    optimizeDeps: { entries: [join(ROOT, 'site/.vitepress/theme/index.ts')] },
    build: { chunkSizeWarningLimit: 1_000 },
  },
});
