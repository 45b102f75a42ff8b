const { hostname, port } = new URL(process.env.REDIS_URL!);

export const redis = { host: hostname, port: Number(port) };
