import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from '@jest/globals';
import type { Reply } from './http-app.js';

/** The members of RFC 9457, section 3.1, and the rules for the names of extensions of section 3.2 that draft 11 itself keeps. */
const PROBLEM_DETAILS = {
  type: 'object',
  required: ['type', 'title', 'status', 'detail'],
  properties: {
    type: { type: 'string', format: 'uri-reference' },
    status: { type: 'integer', minimum: 100, maximum: 599 },
    title: { type: 'string', minLength: 1 },
    detail: { type: 'string', minLength: 1 },
    instance: { type: 'string', format: 'uri-reference' },
    // draft-ietf-httpapi-ratelimit-headers-11, section 5
    'violated-policies': { type: 'array', items: { type: 'string', minLength: 1 } },
    'retry-after': { type: ['integer', 'null'], minimum: 1 },
    'retry-after-ms': { type: ['number', 'null'], minimum: 0 },
  },
  propertyNames: { pattern: '^[A-Za-z][A-Za-z0-9_-]{2,}$' },
} as const;

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
formats.default(ajv);
const validate = ajv.compile(PROBLEM_DETAILS);

/** Fails unless the reply is problem details of RFC 9457 that name its own status and `Retry-After`. */
export function expectProblem({ status, headers, body }: Reply): void {
  expect(headers['content-type']).toMatch(/^application\/problem\+json(; ?charset=utf-8)?$/);
  validate(body);
  expect(validate.errors ?? []).toEqual([]);
  const { status: named, 'retry-after': seconds = null } = body as { status: number; 'retry-after'?: number | null };
  expect([named, seconds === null ? undefined : String(seconds)]).toEqual([status, headers['retry-after']]);
}
