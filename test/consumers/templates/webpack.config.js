// Everything is bundled: by default Nest's builder leaves each package outside of the bundle.
module.exports = (options) => ({ ...options, externals: [] });
