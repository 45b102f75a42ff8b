import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { entries } from './entries.js';

async function main() {
  const app = await NestFactory.create(AppModule, { logger: ['warn', 'error', 'fatal'] });
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  console.log(`entries ${Object.keys(entries).join(' ')}`);
  console.log(`listening ${await app.getUrl()}`);
}

void main();
