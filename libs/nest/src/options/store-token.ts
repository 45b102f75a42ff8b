/**
 * The token of a store that replaces the one in the module's options. It is null unless a test overrides it: then no connection
 * is opened.
 */
export const RATE_LIMIT_STORE = Symbol.for('nestjs-floodgate: the store that decides');
