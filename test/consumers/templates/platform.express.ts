import type { INestApplication, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

export function create(module: Type): Promise<INestApplication> {
  return NestFactory.create(module, { logger: ['warn', 'error', 'fatal'] });
}
