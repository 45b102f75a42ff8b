import type { ModuleMetadata } from '@nestjs/common';

export const metrics: NonNullable<ModuleMetadata['imports']> = [];
