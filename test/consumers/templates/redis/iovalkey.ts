import { Redis } from 'iovalkey';

export const redis = new Redis(process.env.REDIS_URL!);
