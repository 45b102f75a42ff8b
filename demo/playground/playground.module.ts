import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import { ServePlayground } from './serve-playground.js';

/** A static page where people play with the algorithms. */
@Module({})
export class PlaygroundModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(ServePlayground).forRoutes('playground', 'playground/{*path}');
  }
}
