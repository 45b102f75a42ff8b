import { AppModule } from './app.module.js';
import { useEntries } from './entries.js';
import { create } from './platform.js';

async function main() {
  const app = await create(AppModule);
  app.enableShutdownHooks();
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  console.log(`entries ${(await useEntries(url)).join(' ')}`);
  console.log(`listening ${url}`);
}

void main();
