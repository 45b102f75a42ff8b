import type { INestApplication } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { documentRateLimits } from 'nestjs-floodgate';
import type { Configuration } from '../config/configuration.js';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

/** The library's endpoints, which have no decorators of `@nestjs/swagger`. */
const OPERATED = '/api/admin/limits';

const DESCRIPTION = `The ride-hailing application that Floodgate protects. A route with limits answers 429 beyond them. The body names the policy that refused.

A limit counts the API key, else the rider, else the address. In production the gateway sets \`X-User-Id\` and removes \`X-API-Key\`.`;

/**
 * The OpenAPI document of the application, with the answers of its limits. The library writes those.
 *
 * @throws RateLimitConfigError for a policy that is wrong
 */
export function apiDocument(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setTitle('Ride hailing')
    .setDescription(DESCRIPTION)
    .setVersion('0.1.0')
    .addTag('Rides', 'Fares, drivers and rides. Matching serves them.')
    .addTag('Trips', "A rider's trips, summaries and exports.")
    .addTag('Login', 'What a gateway needs to begin a session.')
    .addTag('Operation', 'Zones, plans, and limits at run time.')
    .addTag('Process', 'Health and metrics.')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-User-Id', description: 'The rider, such as rider-1.' }, 'rider')
    .addApiKey({ type: 'apiKey', in: 'header', name: 'X-API-Key', description: 'A client with a key.' }, 'client')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'The token of ADMIN_TOKEN.' }, 'operator')
    // Each alone is enough, and so is none.
    .addSecurityRequirements({})
    .addSecurityRequirements('rider')
    .addSecurityRequirements('client')
    .build();
  const document = SwaggerModule.createDocument(app, config);
  for (const operation of operationsBelow(document, '/')) {
    // The security scheme `rider` says it.
    operation.parameters = operation.parameters?.filter((one) => !('name' in one) || one.name !== 'x-user-id');
  }
  for (const operation of operationsBelow(document, `${OPERATED}/`)) {
    operation.tags = ['Operation'];
    operation.security = [{ operator: [] }];
  }
  // With RATE_LIMIT=off the routes have no limits.
  const configuration = app.get<ConfigService<Configuration, true>>(ConfigService, { strict: false });
  const limited = configuration.get('rateLimit', { infer: true }) !== 'off';
  return limited ? documentRateLimits(document, app) : document;
}

function operationsBelow({ paths }: OpenAPIObject, prefix: string): Operation[] {
  return Object.entries(paths)
    .filter(([path]) => path.startsWith(prefix))
    .flatMap(([, item]) => [item.get, item.put, item.post, item.delete].filter((operation) => operation !== undefined));
}
