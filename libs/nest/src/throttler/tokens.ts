import { ThrottlerStorage } from './storage.js';

const OPTIONS = Symbol('nestjs-floodgate: ThrottlerModuleOptions');

/** The token of the module's options, for `@Inject` and for tests that override a provider. */
export const getOptionsToken = (): symbol => OPTIONS;

/** The token of the storage. */
export const getStorageToken = (): symbol => ThrottlerStorage;

/** Provided by `ThrottlerModule` for the whole application. */
export const THROTTLER_PRESENT = Symbol('ThrottlerModule is imported');
