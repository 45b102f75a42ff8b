import { type DynamicModule, Module } from '@nestjs/common';
import { ConfigModule } from '@nestjs/config';
import type { Configuration } from './configuration.js';

/** Gives every module a `ConfigService<Configuration, true>`. */
@Module({})
export class ConfigurationModule {
  static forRoot(configuration: Configuration): DynamicModule {
    return {
      module: ConfigurationModule,
      imports: [
        ConfigModule.forRoot({
          isGlobal: true,
          load: [() => ({ ...configuration })],
          // `readConfiguration` has read the environment. Tests run differently configured applications in one process.
          ignoreEnvFile: true,
          ignoreEnvVars: true,
          skipProcessEnv: true,
        }),
      ],
    };
  }
}
