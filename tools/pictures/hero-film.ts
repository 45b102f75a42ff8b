// `npm run screenshots:hero`: takes the film of the README from the page's own simulation, frame by frame, and its last frame for
// readers who want no motion. Each in light and dark, at twice the size.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import sharp from 'sharp';
import { launch } from '../browser.js';
import { optionsOf } from '../command-line.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = `${ROOT}docs/images/`;
const STYLES = [
  'demo/palette/palette.css',
  'demo/palette/font.css',
  'demo/palette/frame.css',
  'demo/hero/page/hero.css',
];
const FONT = 'inter-latin-wght-normal.woff2';
const THEMES = ['light', 'dark'] as const;

/** As wide as GitHub shows a README. */
const WIDTH = 880;
const SCALE = 2;
const FRAME_MS = 100;
/** How long the end stays before the film begins again. */
const END_MS = 3000;
const PLAYS = 3;
const MAX_BYTES = 1_000_000;
/** The first that fits is taken. */
const QUALITIES = [70, 60, 50, 40, 30];

/** What `mountHero` returns. */
interface Hero {
  readonly duration: number;
  seek(seconds: number): void;
}

optionsOf('npm run screenshots:hero');
const browser = await launch();
try {
  for (const theme of THEMES) {
    const frames = await framesOf(browser, theme);
    await write(`hero-${theme}.webp`, await filmOf(frames));
    await write(`hero-${theme}-end.webp`, await sharp(frames.at(-1)).webp({ quality: 90 }).toBuffer());
  }
} finally {
  await browser.close();
}

/** The pictures of the film, every `FRAME_MS` of it, as PNG files. */
async function framesOf(of: Browser, colorScheme: (typeof THEMES)[number]): Promise<Buffer[]> {
  const context = await of.newContext({
    viewport: { width: WIDTH, height: 900 },
    deviceScaleFactor: SCALE,
    colorScheme,
  });
  const page = await context.newPage();
  await page.setContent(await pageOf());
  await page.evaluate(() => document.fonts.load('700 16px "Inter Variable"'));
  const duration = await page.evaluate(() => (globalThis as unknown as { hero: Hero }).hero.duration);
  const clip = await pictureOf(page);
  const frames: Buffer[] = [];
  for (let at = 0; at < duration + FRAME_MS / 1000; at += FRAME_MS / 1000) {
    await page.evaluate(
      (seconds) => {
        (globalThis as unknown as { hero: Hero }).hero.seek(seconds);
      },
      Math.min(at, duration),
    );
    frames.push(await page.screenshot({ clip, caret: 'hide' }));
  }
  await context.close();
  return frames;
}

/** From the headline to the sentence below the two worlds: a picture has no button and no scrubber. */
async function pictureOf(page: Page): Promise<{ x: number; y: number; width: number; height: number }> {
  const bottom = await page.locator('.fh-caption').evaluate((worlds) => worlds.getBoundingClientRect().bottom);
  return { x: 0, y: 0, width: WIDTH, height: Math.ceil(bottom) + 16 };
}

async function filmOf(frames: readonly Buffer[]): Promise<Buffer> {
  const delay = frames.map((_, i) => (i === frames.length - 1 ? END_MS : FRAME_MS));
  for (const quality of QUALITIES) {
    const film = await sharp([...frames], { join: { animated: true } })
      .webp({ quality, delay, loop: PLAYS, effort: 4, smartSubsample: true })
      .toBuffer();
    if (film.length < MAX_BYTES) return film;
    console.log(`quality ${quality}: ${Math.round(film.length / 1000)} kB`);
  }
  throw new Error(`the film is larger than ${MAX_BYTES} bytes with a quality of ${QUALITIES.at(-1)}`);
}

/** A page with nothing but the hero, which does not play by itself. */
async function pageOf(): Promise<string> {
  const entry = `import { mountHero } from './demo/hero/page/hero.js';
    globalThis.hero = mountHero(document.getElementById('hero'), { autoplay: false });`;
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: ROOT },
    bundle: true,
    format: 'iife',
    write: false,
    plugins: [
      {
        name: 'typescript',
        setup: (plugin) => {
          plugin.onResolve({ filter: /^\..*\.js$/ }, ({ resolveDir, path }) => {
            const source = resolve(resolveDir, path.replace(/\.js$/, '.ts'));
            return existsSync(source) ? { path: source } : undefined;
          });
        },
      },
    ],
  });
  const font = readFileSync(fileURLToPath(import.meta.resolve(`@fontsource-variable/inter/files/${FONT}`)), 'base64');
  const style = STYLES.map((path) => readFileSync(`${ROOT}${path}`, 'utf8'))
    .join('\n')
    .replace(`url('${FONT}')`, `url('data:font/woff2;base64,${font}')`);
  return `<!doctype html><html lang="en"><meta charset="utf-8" /><meta name="color-scheme" content="light dark" />
    <style>${style}</style><style>body { margin: 0; padding: 16px; font-family: var(--font); } main { padding: 0; max-width: none; } .fh-bar { visibility: hidden; }</style>
    <body><main><div id="hero"></div></main><script>${outputFiles[0]!.text.replaceAll('</script', '<\\/script')}</script></body></html>`;
}

async function write(name: string, content: Buffer): Promise<void> {
  writeFileSync(`${FOLDER}${name}`, content);
  const { width, height, pages = 1 } = await sharp(content).metadata();
  const shown = `${width} x ${height}, ${pages} ${pages === 1 ? 'frame' : 'frames'}, ${Math.round(content.length / 1000)} kB`;
  console.log(`docs/images/${name}: ${shown}`);
}
