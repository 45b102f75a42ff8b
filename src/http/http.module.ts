import { Module } from '@nestjs/common';
import { Connections } from './connections.js';

/** What both services have of HTTP. */
@Module({ providers: [Connections] })
export class HttpModule {}
