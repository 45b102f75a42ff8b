/**
 * The token of a store that replaces the one in the module's options: null, unless a test overrides the token. The module then opens
 * no connection.
 */
export const RATE_LIMIT_STORE = Symbol.for('nestjs-floodgate: the store that decides');
