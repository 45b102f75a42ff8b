// The client is the package floodgate-client. This entry point contains a copy of it for one release line: who imports it needs
// no other package, and `RateLimitConfigError` stays the class that the other entry points export.
export * from '../../../client/src/index.js';
