import type { OpenApiDocument } from 'floodgate/http';
import type { INestApplicationContext } from '@nestjs/common';
import { RateLimitRuntime } from '../guard/rate-limit.runtime.js';

/**
 * Adds the answers of the rate limit to an OpenAPI document. The operations that policies limit get the 429 with its body and
 * headers. The others depend on options: the 403 on the module's `blockList`, the 401 on `onMissingIdentity: 'reject'`, and the 503 on
 * `shed`, on `onStoreFailure: 'closed'`, and on policies that let requests wait. An answer that the document has already stays. For a
 * policy that a function chooses, the module's options count.
 *
 * Call it after `setGlobalPrefix` and `enableVersioning`, like `SwaggerModule.createDocument`.
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
