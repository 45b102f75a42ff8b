import { type Type } from '@nestjs/common';
import { isPackageAbsent, optionalPackageError } from '../../util/optional-package.js';
import { type AdminOperation, ERROR_SCHEMA, OPERATIONS } from './schemas.js';
import { RateLimitLogger } from '../handlers/logger.js';

const PACKAGE = '@nestjs/swagger';
const ERRORS = {
  400: 'The request is wrong; the message says what would be right',
  404: 'There is no such policy, route or override',
  409: 'Another change came first, or there are as many overrides as can be kept',
} as const;

/**
 * The controllers that were described. A module may be booted several times, and its decorators would then repeat each
 * parameter.
 */
const DESCRIBED = new WeakSet<Type>();

/**
 * Tells `@nestjs/swagger` about the endpoints, if it is installed. Without the package, the endpoints work but are not
 * documented.
 */
export async function describeForOpenApi(controller: Type): Promise<void> {
  if (DESCRIBED.has(controller)) return;
  const swagger = await load();
  if (swagger === undefined || DESCRIBED.has(controller)) return;
  DESCRIBED.add(controller);
  const { ApiTags } = swagger;
  ApiTags('rate limits')(controller);
  for (const [method, operation] of Object.entries(OPERATIONS)) {
    const descriptor = Object.getOwnPropertyDescriptor(controller.prototype, method)!;
    for (const decorator of decoratorsOf(swagger, operation)) {
      decorator(controller.prototype as object, method, descriptor);
    }
  }
}

type Swagger = typeof import('@nestjs/swagger');

function decoratorsOf(
  { ApiBody, ApiOperation, ApiQuery, ApiResponse }: Swagger,
  { summary, query = {}, body, answers, errors }: AdminOperation,
): MethodDecorator[] {
  const statuses = [400, ...errors] as const;
  return [
    ApiOperation({ summary }),
    ApiResponse({ status: 200, description: 'Done', schema: answers }),
    ...statuses.map((status) => ApiResponse({ status, description: ERRORS[status], schema: ERROR_SCHEMA })),
    ApiResponse({ status: 503, description: 'The store does not answer' }),
    ...Object.entries(query).map(([name, schema]) => ApiQuery({ name, required: false, schema })),
    ...(body === undefined ? [] : [ApiBody({ required: true, schema: body })]),
  ];
}

async function load(): Promise<Swagger | undefined> {
  try {
    return await import('@nestjs/swagger');
  } catch (error) {
    if (isPackageAbsent(error, PACKAGE)) return undefined;
    // Its message has the link already.
    const { message } = optionalPackageError(error, {
      name: PACKAGE,
      where: 'OpenAPI',
      versions: '^11.2.0 || ^12.0.0',
    });
    new RateLimitLogger().warn(`RateLimitAdminModule: its endpoints are not described for ${message}`);
    return undefined;
  }
}
