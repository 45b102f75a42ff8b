import { readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { ROOT } from './pages.js';

const FOLDER = 'docs/images';
const TEXTS = /\.(?:html|js|css)$/;

/** The pixels of each picture, by its path below the repository. */
export type PictureSizes = ReadonlyMap<string, { readonly width: number; readonly height: number }>;

/** The sizes of the pictures of the documentation. */
export async function pictureSizes(): Promise<PictureSizes> {
  const names = readdirSync(join(ROOT, FOLDER));
  return new Map(
    await Promise.all(
      names.map(async (name) => [`${FOLDER}/${name}`, await sharp(join(ROOT, FOLDER, name)).metadata()] as const),
    ),
  );
}

/** Makes WebP of the PNG pictures of a built site, without a loss: a quarter of the bytes. The repository keeps what GitHub shows. */
export async function shrinkPictures(folder: string): Promise<void> {
  const assets = join(folder, 'assets');
  const pictures = readdirSync(assets).filter((name) => name.endsWith('.png'));
  for (const name of pictures) {
    const file = join(assets, name);
    writeFileSync(file.replace(/\.png$/, '.webp'), await sharp(file).webp({ lossless: true, effort: 6 }).toBuffer());
    unlinkSync(file);
  }
  const texts = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => TEXTS.test(name));
  for (const name of texts) {
    const file = join(folder, name);
    const text = readFileSync(file, 'utf8');
    const changed = pictures.reduce((so, picture) => so.replaceAll(picture, picture.replace(/\.png$/, '.webp')), text);
    if (changed !== text) writeFileSync(file, changed);
  }
}
