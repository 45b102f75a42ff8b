import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Configuration } from './configuration.js';

@Global()
@Module({})
export class ConfigModule {
  static forRoot(configuration: Configuration): DynamicModule {
    return {
      module: ConfigModule,
      providers: [{ provide: Configuration, useValue: configuration }],
      exports: [Configuration],
    };
  }
}
