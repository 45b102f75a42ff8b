import { createCluster } from 'redis';

export const redis = createCluster({ rootNodes: [{ url: process.env.REDIS_URL! }] });
