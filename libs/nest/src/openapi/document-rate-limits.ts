import type { OpenApiDocument } from 'floodgate/http';
import type { INestApplicationContext } from '@nestjs/common';
import { RateLimitRuntime } from '../guard/rate-limit.runtime.js';

/**
 * Adds the answers of the rate limit to an OpenAPI document: the 429 with its body and headers on exactly the operations that
 * policies limit, the 403 where the module has a `blockList`, the 503 where its `shed` may reject, a policy's `onStoreFailure` is `'closed'`
 * or requests wait, and the 401 where its `onMissingIdentity` is `'refuse'`. What the document already says of such an answer stays. For a
 * policy that a function chooses,
 * the module's options count.
 *
 * Call it after `setGlobalPrefix` and `enableVersioning`, as `SwaggerModule.createDocument`.
 *
 * @returns the document, which is changed
 * @throws {RateLimitConfigError} for a policy that is wrong
 * @throws {Error} of Nest when `RateLimitModule` is not imported
 * @example SwaggerModule.setup('docs', app, documentRateLimits(SwaggerModule.createDocument(app, config), app))
 */
export function documentRateLimits<Document extends OpenApiDocument>(
  document: Document,
  app: INestApplicationContext,
): Document {
  app.get(RateLimitRuntime, { strict: false }).document(document, app);
  return document;
}
