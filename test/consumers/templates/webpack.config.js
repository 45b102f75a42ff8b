const IN_NEST = ['@nestjs/platform-express', '@fastify/static', '@fastify/view'];

// Nest's builder leaves every package outside of the bundle. Here they are inside, but for what Nest loads only if it is there.
module.exports = (options) => ({ ...options, externals: IN_NEST, externalsType: 'commonjs' });
