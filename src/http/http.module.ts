import { Module } from '@nestjs/common';
import { Connections } from './connections.js';

/** The HTTP server of the application and of the matching service. */
@Module({ providers: [Connections] })
export class HttpModule {}
