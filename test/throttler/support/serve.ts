// Serves the application in the folder that it is given, on a clock that stands still until it is told to advance.
import { pathToFileURL } from 'node:url';
import type { Type } from '@nestjs/common';

let now = 1_800_000_000_000;
const { timeOrigin } = performance;
Date.now = () => now;
performance.now = () => now - timeOrigin;

const [, , folder, platform] = process.argv;
const { NestFactory } = await import('@nestjs/core');
const { adapterOf } = await import('./adapters.js');
const { AppModule } = (await import(pathToFileURL(`${folder}/app.module.ts`).href)) as { AppModule: Type };

const app = await NestFactory.create(AppModule, await adapterOf(platform!), {
  logger: ['warn', 'error'],
  abortOnError: false,
});
await app.listen(0, '127.0.0.1');

process.on('message', ({ advance }: { advance: number }) => {
  now += advance;
  process.send!({ advanced: now });
});
process.on('disconnect', () => process.exit());
process.send!({ url: await app.getUrl() });
