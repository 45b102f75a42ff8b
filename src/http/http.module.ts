import { Module } from '@nestjs/common';
import { Connections } from './connections.js';
import { HttpAnswers } from './http-answers.js';

/** The HTTP server of the application and of the matching service. */
@Module({ providers: [Connections, HttpAnswers], exports: [HttpAnswers] })
export class HttpModule {}
