import type { AbstractHttpAdapter } from '@nestjs/core';

export async function adapterOf(platform: string): Promise<AbstractHttpAdapter> {
  if (platform === 'Fastify') return new (await import('@nestjs/platform-fastify')).FastifyAdapter();
  return new (await import('@nestjs/platform-express')).ExpressAdapter();
}
