// For the projects of Jest that run specs a second time, with node-redis: their properties try fewer histories.
process.env.TEST_REDIS_CLIENT = 'redis';
