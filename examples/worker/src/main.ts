import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { MailWorker } from './mail.worker.js';

const app = await NestFactory.createApplicationContext(AppModule);
app.enableShutdownHooks();

app
  .get(MailWorker)
  .add(
    { tenant: 'acme', recipients: ['ada'] },
    { tenant: 'acme', recipients: ['bob', 'cem'] },
    { tenant: 'acme', recipients: ['dan'] },
    { tenant: 'globex', recipients: ['eve', 'fay'] },
  );
