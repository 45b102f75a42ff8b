import { Cluster } from 'ioredis';

const { hostname, port } = new URL(process.env.REDIS_URL!);

export const redis = new Cluster([{ host: hostname, port: Number(port) }]);
