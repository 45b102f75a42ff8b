import type { Files } from './memory-tree.js';

const TSCONFIG = '{ "compilerOptions": { "module": "nodenext", "moduleResolution": "nodenext", "strict": true } }';

export const MANIFEST = `{
  "name": "fresh",
  "dependencies": {
    "@nestjs/common": "^12.0.1",
    "@nestjs/core": "^12.0.1",
    "@nestjs/platform-express": "^12.0.1",
    "rxjs": "^7.8.1"
  }
}
`;

/** The root module that `nest new` writes, or another `@Module`. */
export const moduleOf = (
  metadata = '{\n  imports: [],\n  controllers: [],\n}',
): string => `import { Module } from '@nestjs/common';

@Module(${metadata})
export class AppModule {}
`;

/** What `nest new` of Nest 12 writes, but for the tests. */
export const ESM: Files = {
  'package.json': MANIFEST.replace('"name"', '"type": "module",\n  "name"'),
  'nest-cli.json': '{ "collection": "@nestjs/schematics", "sourceRoot": "src" }',
  'tsconfig.json': TSCONFIG,
  'src/app.module.ts': moduleOf(),
  'src/app.module.spec.ts': "import { RateLimitModule } from 'nestjs-floodgate';\nRateLimitModule.forRoot();\n",
  'src/main.ts': `import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

async function bootstrap() {
  const app = await NestFactory.create(AppModule);
  await app.listen(process.env.PORT ?? 3000);
}
await bootstrap();
`,
};

/** What `nest new` of Nest 11 writes, but for the tests. */
export const COMMONJS: Files = {
  ...ESM,
  'package.json': MANIFEST,
  'src/main.ts': ESM['src/main.ts']!.replace('.module.js', '.module').replace('await bootstrap()', 'bootstrap()'),
};

/** The same on Fastify. */
export const FASTIFY: Files = {
  ...ESM,
  'src/main.ts': `import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';

const app = await NestFactory.create<NestFastifyApplication>(AppModule, new FastifyAdapter());
await app.listen(3000);
`,
};
