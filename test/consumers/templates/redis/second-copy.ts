import { Redis } from 'another-ioredis';

export const redis = new Redis(process.env.REDIS_URL!);
