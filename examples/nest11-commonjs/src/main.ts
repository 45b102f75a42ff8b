import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { AppModule } from './app.module';

async function bootstrap(): Promise<void> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule);
  // Behind one proxy of yours, the client's address is in X-Forwarded-For: app.set('trust proxy', 1);
  await app.listen(process.env.PORT ?? 3000);
}

void bootstrap();
