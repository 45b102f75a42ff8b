import { ApiServiceUnavailableResponse } from '@nestjs/swagger';
import { UNAVAILABILITIES } from './matching.js';

/** Documents the 503 of a route that asks matching. */
export function ApiMatchingUnavailable(): MethodDecorator {
  return ApiServiceUnavailableResponse({
    description: 'Matching did not serve the request. The same request can succeed later.',
    schema: {
      type: 'object',
      required: ['statusCode', 'error', 'message'],
      properties: {
        statusCode: { type: 'integer', enum: [503] },
        error: { type: 'string', enum: ['Service Unavailable'] },
        message: { type: 'string', enum: UNAVAILABILITIES.map((reason) => `matching is unavailable: ${reason}`) },
      },
    },
  });
}
