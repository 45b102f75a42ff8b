export const redis = process.env.REDIS_URL;
