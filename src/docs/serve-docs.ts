import type { ServerResponse } from 'node:http';
import type { INestApplication } from '@nestjs/common';
import { SwaggerModule } from '@nestjs/swagger';
import { apiDocument } from './api-document.js';

/** Swagger UI has inline styles and images. Nothing comes from another host. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Serves the API's document: a page at `/docs`, the document at `/docs-json` and `/docs-yaml`. Call it before the application
 * listens. Its adapter must be Express.
 *
 * The routes check no host name, unlike those of the control room: the document has nothing of the running process, and a page that
 * rebinds its name reaches `/api` without it. The document is made for its first reader.
 */
export function serveDocs(app: INestApplication): void {
  app.use('/docs', (_: unknown, response: ServerResponse, next: () => void) => {
    response.setHeader('Content-Security-Policy', CONTENT_SECURITY_POLICY);
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('X-Content-Type-Options', 'nosniff');
    next();
  });
  SwaggerModule.setup('docs', app, () => apiDocument(app), {
    customSiteTitle: 'Ride hailing: the API',
    // By default the page asks validator.swagger.io about documents of public hosts.
    swaggerOptions: { validatorUrl: null, persistAuthorization: false },
  });
}
